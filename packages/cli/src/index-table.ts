import type { IndexStatus } from '@looseleaf/store'
import type { Output } from './output.ts'

/** The indexes of a store for people, a line each. */
export function indexTable(output: Output, indexes: readonly IndexStatus[]): string {
  const { colors } = output
  return output.table(
    ['INDEX', 'GENERATION', 'STATE', 'PROPERTIES', 'SHARDED ON', 'TABLE'],
    indexes.map(({ name, generation, state, columns, shardOn, table, unique }) => [
      indexName(output, { index: name, unique }),
      String(generation),
      state === 'ready' ? colors.green(state) : colors.yellow(state),
      columns,
      shardOn,
      table,
    ]),
  )
}

/** An index's name; of its claims, which stand in a line of their own, with a word that says so. */
export function indexName(
  { colors }: Output,
  { index, unique }: { readonly index: string; readonly unique?: true | undefined },
): string {
  return unique ? `${colors.bold(index)} (unique)` : colors.bold(index)
}
