import type { CleanerReport, IndexReport } from '@looseleaf/cleaner'
import type { CatalogEntry } from '@looseleaf/core/internal'
import { predicateText } from '@looseleaf/index-engine/internal'
import type { IndexStatus } from '@looseleaf/store'
import type { Output } from '../output/output.ts'

/** Returns a table of a store's indexes for people, one line each. */
export function indexTable(output: Output, indexes: readonly IndexStatus[]): string {
  return output.table(
    ['INDEX', 'GENERATION', 'STATE', 'PROPERTIES', 'SHARDED ON', 'TABLE'],
    indexes.map((index) => {
      const { name, generation, shardOn, table, unique } = index
      return [
        indexName(output, { index: name, unique }),
        String(generation),
        stateText(output, index),
        columnsText(index),
        shardOn,
        table,
      ]
    }),
  )
}

/** Returns a text such as `user_id uuid; includes title; on kind = "issue"`. */
function columnsText({ columns, include, on, expires }: IndexStatus): string {
  const parts = [
    columns,
    ...(expires === undefined ? [] : ['deletes expired entities']),
    ...(include ? [`includes ${includedText({ include })}`] : []),
    ...(on ? [`on ${predicateText(on)}`] : []),
  ]
  return parts.join('; ')
}

/** Returns the properties beside the key, sorted: `likes, title`, or `nothing`. */
export function includedText({ include = [] }: { readonly include?: readonly string[] | undefined }): string {
  return include.toSorted().join(', ') || 'nothing'
}

/** Returns the cleaner's report on an index, or on its claims. */
export function reportOf(
  report: CleanerReport | undefined,
  { name, generation, unique }: Pick<CatalogEntry, 'name' | 'generation' | 'unique'>,
): IndexReport | undefined {
  return report?.indexes.find(
    (entry) => entry.index === name && entry.generation === generation && entry.unique === unique,
  )
}

/** Returns a text such as `ready` or `building, paused`. */
export function stateText(
  { colors }: Output,
  { state, hidden, paused }: Pick<IndexStatus, 'state' | 'hidden' | 'paused'>,
): string {
  const words = [state, ...(hidden ? ['hidden'] : []), ...(paused ? ['paused'] : [])].join(', ')
  return words === 'ready' ? colors.green(words) : colors.yellow(words)
}

/** Returns the name of an index for a table. Claims have a line of their own, marked `(unique)`. */
export function indexName(
  { colors }: Output,
  { index, unique }: { readonly index: string; readonly unique?: true | undefined },
): string {
  return unique ? `${colors.bold(index)} (unique)` : colors.bold(index)
}
