import { setTimeout as sleep } from 'node:timers/promises'
import type { Driver } from '@looseleaf/core'
import { changed } from '@looseleaf-tooling/lab/drivers'
import type { Random } from '@looseleaf-tooling/random'

const HELD = 0.15
/** Longer than others wait for an attempt before they take its key over. */
const HELD_MS = { least: 300, more: 600 }

/** The driver, with commits that are held up on their way, when the claims of their entities are taken. */
export function withHeldCommits(driver: Driver, random: Random): Driver {
  const hold = async (): Promise<void> => {
    if (random.chance(HELD)) await sleep(HELD_MS.least + random.below(HELD_MS.more))
  }
  return changed(driver, {
    entities: (entities) => ({
      async insert(rows, options) {
        await hold()
        await entities.insert(rows, options)
      },
      async replace(rows, options) {
        await hold()
        return entities.replace(rows, options)
      },
    }),
  })
}
