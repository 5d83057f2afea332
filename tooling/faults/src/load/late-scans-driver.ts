import { setTimeout as sleep } from 'node:timers/promises'
import type { Driver, IndexTable, Shard } from '@looseleaf/core'
import type { Random } from '@looseleaf-tooling/random'

/**
 * A driver whose scans of index rows arrive at different times, up to so many milliseconds apart, as they do where shards
 * are busy or far away: what moves from one shard to another in between has to be found all the same.
 */
export function withLateScans(driver: Driver, mostMs: number, random: Random): Driver {
  const shards = driver.shards.map((shard): Shard => {
    const tables = new Map<string, IndexTable>()
    return {
      ...shard,
      index(spec) {
        let table = tables.get(spec.table)
        if (table === undefined) tables.set(spec.table, (table = late(shard.index(spec), mostMs, random)))
        return table
      },
    }
  })
  return { shards, close: () => driver.close() }
}

function late(table: IndexTable, mostMs: number, random: Random): IndexTable {
  return {
    ...table,
    async scan(scan, options) {
      await sleep(random.below(mostMs))
      return table.scan(scan, options)
    },
  }
}
