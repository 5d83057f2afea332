import { setTimeout as sleep } from 'node:timers/promises'
import type { Driver, EntityTable } from '@looseleaf/core'
import type { Random } from '@looseleaf-tooling/random'

const HELD = 0.15
/** Longer than others wait for an attempt before they take its key over. */
const HELD_MS = { least: 300, more: 600 }

/** The driver, with commits that are held up on their way, when the claims of their entities are taken. */
export function withHeldCommits(driver: Driver, random: Random): Driver {
  const hold = async (): Promise<void> => {
    if (random.chance(HELD)) await sleep(HELD_MS.least + random.below(HELD_MS.more))
  }
  const shards = driver.shards.map((shard) => {
    const entities: EntityTable = {
      ...shard.entities,
      async insert(rows, options) {
        await hold()
        await shard.entities.insert(rows, options)
      },
      async replace(rows, options) {
        await hold()
        return shard.entities.replace(rows, options)
      },
    }
    return { ...shard, entities }
  })
  return { shards, close: () => driver.close() }
}
