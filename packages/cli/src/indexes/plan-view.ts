import { counted } from '@looseleaf/core/internal'
import type { AddPlan, PlannedIndex } from './plan-add.ts'

const REFUSES_DUPLICATES =
  'It would be unique for all programs at once: a write whose key another entity has claimed is refused with DUPLICATE_KEY, also if the program of the writer defines the index otherwise.'

/** Returns the effect of adding indexes for people. */
export function planText({ indexes, shards, entities }: AddPlan): string {
  const lines = indexes.flatMap((planned) => [
    sentence(planned),
    ...planned.differs.map((difference) => `  ${difference}`),
    ...(planned.refusesDuplicates ? [REFUSES_DUPLICATES] : []),
    ...planned.tables.flatMap(({ statements }) => statements.map((sql) => `\n${sql};`)),
    '',
  ])
  const isAdded = indexes.some(({ tables }) => tables.length > 0)
  return [
    ...lines,
    ...(isAdded
      ? [
          `The tables would be created on ${counted(shards.length, 'shard', 'shards')}: ${shards.join(', ')}.`,
          `A filling would read about ${counted(entities, 'entity', 'entities')}, once for all of these indexes. This estimate is the current count.`,
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
      return `Index ${index} would get a new generation, ${generation}, beside the current one:`
    case 'claims':
      return `Index ${index} exists, and would become unique:`
    case 'restore':
      return `Index ${index} exists and is hidden. It would be restored.`
    case 'misfits':
      return `Index ${index} exists. Only this would change:`
    case 'nothing':
      return `Index ${index} exists as defined.`
  }
}
