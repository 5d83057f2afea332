import { setTimeout as sleep } from 'node:timers/promises'
import { LooseleafError, type Driver } from '@looseleaf/core'
import { changed } from '@looseleaf-tooling/lab/drivers'
import type { Random } from '@looseleaf-tooling/random'

/** A driver whose index tables refuse some statements before they are sent, as those of a shard that is away do. */
export function withRefusals(driver: Driver, chance: number, random: Random): Driver {
  return changed(driver, {
    index: (table) => ({
      async upsert(rows, options) {
        if (random.chance(chance))
          throw new LooseleafError('SHARD_UNAVAILABLE', 'The index refuses the rows, on purpose.')
        await table.upsert(rows, options)
      },
    }),
  })
}

/**
 * A driver whose scans of index rows arrive at different times, up to so many milliseconds apart, as they do where shards
 * are busy or far away: what moves from one shard to another in between has to be found all the same.
 */
export function withLateScans(driver: Driver, mostMs: number, random: Random): Driver {
  return changed(driver, {
    index: (table) => ({
      async scan(scan, options) {
        await sleep(random.below(mostMs))
        return table.scan(scan, options)
      },
    }),
  })
}
