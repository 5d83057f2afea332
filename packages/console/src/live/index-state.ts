import type { CallOptions, IndexDefinitionData } from '@looseleaf/core'
import { readCleanerReport, type IndexReport, type PartReport } from '@looseleaf/cleaner'
import type { DataStore, IndexStatus } from '@looseleaf/store'

/** An index that the application offers, as the store has it. */
export interface OfferedIndex {
  readonly definition: IndexDefinitionData
  /** Its generations, a line for the claims of a unique one too; none while it is absent. */
  readonly generations: readonly Generation[]
  /** Whether a cleaner follows the store now, which would fill it; a shard that does not answer may have one. */
  readonly hasCleaner: boolean
}

export interface Generation {
  readonly status: IndexStatus
  /** What the cleaners say of it; undefined while it is dropped. */
  readonly report: IndexReport | undefined
}

export async function readOffered(
  store: Pick<DataStore, 'indexes' | 'context'>,
  offer: readonly IndexDefinitionData[],
  options: CallOptions,
): Promise<readonly OfferedIndex[]> {
  const report = await readCleanerReport(store, options)
  const indexes = await store.indexes(options)
  const hasCleaner = report.shards.some(({ isFollowed, error }) => isFollowed || error !== undefined)
  return offer.map((definition) => ({
    definition,
    hasCleaner,
    generations: indexes
      .filter(({ name, state }) => name === definition.name && state !== 'dropped')
      .map((status) => ({
        status,
        report: report.indexes.find(
          ({ index, generation, unique }) =>
            index === status.name && generation === status.generation && unique === status.unique,
        ),
      })),
  }))
}

const PHASES = ['entities', 'dangling', 'check', 'done'] as const

/** How far a filling is, from 0 to 1: every phase counts the same on every shard. */
export function fractionOf(shards: readonly PartReport[]): number {
  const done = shards.map(({ phase, done: rows, total }) => {
    const before = Math.max(0, PHASES.indexOf(phase as (typeof PHASES)[number]))
    return (before + (phase === 'done' ? 0 : rows / Math.max(1, total))) / (PHASES.length - 1)
  })
  return done.reduce((sum, each) => sum + each, 0) / Math.max(1, done.length)
}
