import { setTimeout as sleep } from 'node:timers/promises'
import type { Driver, IndexTable } from '@looseleaf/core'
import type { Random } from '@looseleaf-tooling/random'
import { withIndexTables } from './with-index-tables.ts'

/**
 * A driver whose scans of index rows arrive at different times, up to so many milliseconds apart, as they do where shards
 * are busy or far away: what moves from one shard to another in between has to be found all the same.
 */
export function withLateScans(driver: Driver, mostMs: number, random: Random): Driver {
  return withIndexTables(driver, (table) => late(table, mostMs, random))
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
