import { createRandom, type Random } from '@looseleaf-tooling/random'
import type { Side } from '../sides/side.ts'
import { createEntry } from './entry.ts'

/** What is there before anything is measured. */
export interface DataSet {
  readonly random: Random
  readonly userIds: readonly string[]
  readonly entryIds: readonly string[]
}

export interface DataSetOptions {
  readonly entries: number
  /** Each gets about `entries / users` entries. */
  readonly users: number
  readonly seed: number
}

/** Puts under way at once while the data set is written; nothing of that is measured. */
const WRITERS = 256

/** Writes the entries through one side: both sides read the same tables afterwards. */
export async function createDataSet(side: Side, options: DataSetOptions): Promise<DataSet> {
  const random = createRandom(options.seed)
  const userIds = Array.from({ length: options.users }, () => random.uuid())
  const entryIds: string[] = []
  let started = 0
  await Promise.all(
    Array.from({ length: WRITERS }, async () => {
      while (started < options.entries) {
        // Every user gets the same number, so that every page of the query is full.
        const userId = userIds[started++ % userIds.length] as string
        entryIds.push(await side.put(createEntry(random, userId)))
      }
    }),
  )
  await side.settled()
  return { random, userIds, entryIds }
}
