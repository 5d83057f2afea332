import { setTimeout as sleep } from 'node:timers/promises'
import { LooseleafError, type Driver } from '@looseleaf/core'
import { changed } from '@looseleaf-tooling/kit/changed-driver'
import type { Random } from '@looseleaf-tooling/kit/random'

/**
 * Returns a driver whose index tables refuse some statements before they are sent, like those of an
 * unreachable shard.
 */
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
 * Returns a driver whose scans of index rows arrive up to `mostMs` milliseconds apart, like those of busy or
 * distant shards. A query must still find an entity that moves between shards in that time.
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
