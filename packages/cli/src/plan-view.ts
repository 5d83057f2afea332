import type { AddPlan, PlannedIndex } from './plan-add.ts'
import { counted } from './text.ts'

/** What adding indexes would do, for people. */
export function planText({ indexes, shards, entities }: AddPlan): string {
  const lines = indexes.flatMap((planned) => [
    sentence(planned),
    ...planned.differs.map((difference) => `  ${difference}`),
    ...planned.tables.flatMap(({ statements }) => statements.map((sql) => `\n${sql};`)),
    '',
  ])
  const isAdded = indexes.some(({ tables }) => tables.length > 0)
  return [
    ...lines,
    ...(isAdded
      ? [
          `The tables would be made on ${counted(shards.length, 'shard', 'shards')}: ${shards.join(', ')}.`,
          `A filling would read about ${counted(entities, 'entity', 'entities')}, which is an estimate: as many as there are now, once for all of these indexes.`,
        ]
      : ['There would be nothing to fill.']),
    'Nothing was changed.',
  ].join('\n')
}

function sentence({ index, action, generation }: PlannedIndex): string {
  switch (action) {
    case 'new':
      return `Index ${index} would be new, generation ${generation}.`
    case 'generation':
      return `Index ${index} would get a new generation, ${generation}, beside the one that it has:`
    case 'claims':
      return `Index ${index} is there, and would become unique:`
    case 'restore':
      return `Index ${index} is there and hidden; it would be shown again.`
    case 'misfits':
      return `Index ${index} is there, and only this would change:`
    case 'nothing':
      return `Index ${index} is there as it is defined.`
  }
}
