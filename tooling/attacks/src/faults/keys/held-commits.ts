import { setTimeout as sleep } from 'node:timers/promises'
import type { Driver } from '@looseleaf/core'
import { changed } from '@looseleaf-tooling/kit/changed-driver'
import type { Random } from '@looseleaf-tooling/kit/random'

const HELD = 0.15
/** Longer than other writers wait before they take over the key of an attempt. */
const HELD_MS = { least: 300, more: 600 }

/** Delays commits of entities after their claims were taken. */
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
