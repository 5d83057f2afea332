import type { CallOptions, IndexDefinitionData } from '@looseleaf/core'
import { readCleanerReport, type IndexReport } from '@looseleaf/cleaner'
import type { PartReport } from '@looseleaf/cleaner/internal'
import type { DataStore, IndexStatus } from '@looseleaf/store'

export interface OfferedIndex {
  readonly definition: IndexDefinitionData
  /** Its generations in the store, with an entry for the claims of a unique one; empty if the store does not have it. */
  readonly generations: readonly Generation[]
  /** True if a cleaner follows a shard of the store, so that it would fill the index, or if a shard does not answer. */
  readonly hasCleaner: boolean
}

export interface Generation {
  readonly status: IndexStatus
  /** Report of the cleaners; undefined while the index is being dropped. */
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

/** Returns the progress of a filling from 0 to 1. Each phase of each shard has the same weight. */
export function fractionOf(shards: readonly PartReport[]): number {
  const fractions = shards.map(({ phase, done: rows, total }) => {
    const phasesBefore = Math.max(0, PHASES.indexOf(phase as (typeof PHASES)[number]))
    return (phasesBefore + (phase === 'done' ? 0 : rows / Math.max(1, total))) / (PHASES.length - 1)
  })
  return fractions.reduce((sum, fraction) => sum + fraction, 0) / Math.max(1, fractions.length)
}
