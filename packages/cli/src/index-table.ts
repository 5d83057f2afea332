import type { CleanerReport, IndexReport } from '@looseleaf/cleaner'
import type { CatalogEntry } from '@looseleaf/core'
import { predicateText } from '@looseleaf/index-engine'
import type { IndexStatus } from '@looseleaf/store'
import type { Output } from './output.ts'

/** The indexes of a store for people, a line each. */
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

/** `user_id uuid; includes title; on kind = "issue"`. */
function columnsText({ columns, include, on, expires }: IndexStatus): string {
  const parts = [
    columns,
    ...(expires === undefined ? [] : ['deletes what has expired']),
    ...(include ? [`includes ${includedText({ include })}`] : []),
    ...(on ? [`on ${predicateText(on)}`] : []),
  ]
  return parts.join('; ')
}

/** The properties that rows hold beside their key: `title, likes`, or `nothing`. Their order says nothing. */
export function includedText({ include = [] }: { readonly include?: readonly string[] | undefined }): string {
  return include.toSorted().join(', ') || 'nothing'
}

/** What the cleaner says of an index, or of its claims. */
export function reportOf(
  report: CleanerReport | undefined,
  { name, generation, unique }: Pick<CatalogEntry, 'name' | 'generation' | 'unique'>,
): IndexReport | undefined {
  return report?.indexes.find(
    (own) => own.index === name && own.generation === generation && own.unique === unique,
  )
}

/** `ready`, `building, paused`. */
export function stateText(
  { colors }: Output,
  { state, hidden, paused }: Pick<IndexStatus, 'state' | 'hidden' | 'paused'>,
): string {
  const words = [state, ...(hidden ? ['hidden'] : []), ...(paused ? ['paused'] : [])].join(', ')
  return words === 'ready' ? colors.green(words) : colors.yellow(words)
}

/** An index's name; of its claims, which stand in a line of their own, with a word that says so. */
export function indexName(
  { colors }: Output,
  { index, unique }: { readonly index: string; readonly unique?: true | undefined },
): string {
  return unique ? `${colors.bold(index)} (unique)` : colors.bold(index)
}
