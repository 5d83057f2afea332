import { isLooseleafError, type Time } from '@looseleaf/core'
import type { DataStore } from '@looseleaf/store'
import type { Random } from '@looseleaf-tooling/kit/random'
import { byGroupAndRank, byGroupAndRankElsewhere, bySeat, bySeatListed } from '../shapes/indexes.ts'
import type { Life } from '../steps/life.ts'

export interface AdministratorOptions {
  readonly store: DataStore
  readonly life: Life
  readonly time: Time
  readonly random: Random
  /** Number of actions. */
  readonly changes: number
  /** Whether one of the indexes is unique. */
  readonly hasKeys: boolean
}

/** Share of actions on an existing index that hide it or pause its filling, mostly for a while. */
const MARKED = 0.4
const MAX_MARKED_MS = 40

/**
 * Adds, drops, redefines, hides, restores and pauses an index under load. A failed action is retried a few
 * times. The checks treat a hidden index like a ready one, because it may be restored at any time.
 */
export async function runAdministrator(options: AdministratorOptions): Promise<void> {
  const { store, time, random, changes, hasKeys } = options
  const definitions = [byGroupAndRank, byGroupAndRankElsewhere, ...(hasKeys ? [bySeat, bySeatListed] : [])]
  for (let n = 0; n < changes; n++) {
    const definition = random.pick(definitions)
    if (n > 0 && random.chance(MARKED)) {
      const isHidden = random.chance(0.6)
      await retry(options, async () => {
        await (isHidden ? store.hideIndex(definition.name) : store.pauseIndex(definition.name))
      })
      await time.sleep(random.below(MAX_MARKED_MS))
      if (random.chance(0.2)) continue
      await retry(options, async () => {
        await (isHidden ? store.restoreIndex(definition.name) : store.resumeIndex(definition.name))
      })
      continue
    }
    const isAdded = n === 0 || random.chance(0.5)
    await retry(options, async () => {
      if (isAdded) await store.addIndex(definition)
      else await store.dropIndex(random.chance(0.5) ? definition.name : definition)
    })
  }
}

const MAX_TRIES = 5

async function retry({ life, time }: AdministratorOptions, work: () => Promise<void>): Promise<void> {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    try {
      return await work()
    } catch (error) {
      if (!isLooseleafError(error) || !life.alive) throw error
      await time.sleep(10)
    }
  }
}
