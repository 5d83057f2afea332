import type { IndexStatus } from '@looseleaf/store'
import type { Output } from './output.ts'

/** The indexes of a store for people, a line each. */
export function indexTable(output: Output, indexes: readonly IndexStatus[]): string {
  return output.table(
    ['INDEX', 'GENERATION', 'STATE', 'PROPERTIES', 'SHARDED ON', 'TABLE'],
    indexes.map((index) => {
      const { name, generation, columns, shardOn, table, include, unique } = index
      return [
        indexName(output, { index: name, unique }),
        String(generation),
        stateText(output, index),
        include === undefined ? columns : `${columns}; includes ${includedText(index)}`,
        shardOn,
        table,
      ]
    }),
  )
}

/** The properties that rows hold beside their key: `title, likes`, or `nothing`. Their order says nothing. */
export function includedText({ include = [] }: { readonly include?: readonly string[] | undefined }): string {
  return include.toSorted().join(', ') || 'nothing'
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
