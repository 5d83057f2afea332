import type { IndexStatus } from '@looseleaf/store'
import type { Output } from './output.ts'

/** The indexes of a store for people, a line each. */
export function indexTable(output: Output, indexes: readonly IndexStatus[]): string {
  const { colors } = output
  return output.table(
    ['INDEX', 'GENERATION', 'STATE', 'PROPERTIES', 'SHARDED ON', 'TABLE'],
    indexes.map(({ name, generation, state, columns, shardOn, table }) => [
      colors.bold(name),
      String(generation),
      state === 'ready' ? colors.green(state) : colors.yellow(state),
      columns,
      shardOn,
      table,
    ]),
  )
}
