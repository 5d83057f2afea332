import { setTimeout as sleep } from 'node:timers/promises'
import { checkIndex, sweep } from '@looseleaf/cleaner'
import { mysqlShards } from '@looseleaf/driver-mysql'
import { DataStore } from '@looseleaf/store'
import { allIndexes } from '../indexes.ts'
import { compareTables, type Tables } from './tables.ts'

export interface FinalCheck {
  readonly entities: number
  readonly rows: number
  /** Before anything was repaired: none may be missing even then. */
  readonly missingBeforeSweep: number
  readonly danglingBeforeSweep: number
  readonly missing: number
  readonly dangling: number
  /** What the cleaner's own check says in the end. */
  readonly checkedMissing: number
  readonly checkedDangling: number
  /** Connections of the processes that are gone which the servers still have. */
  readonly leakedConnections: number
  readonly wrongs: readonly string[]
}

/** How long a server may take to notice that a client is gone: a statement of it may still wait for a lock. */
const UNTIL_QUIET_MS = 15_000

/** When every process of the load is gone: nothing missing, one sweep, then everything exact. */
export async function checkInTheEnd(
  tables: Tables,
  urls: readonly string[],
  user: string | undefined,
): Promise<FinalCheck> {
  const leakedConnections = await untilQuiet(tables, urls, user)
  const before = await compareTables(tables)
  const store = await DataStore.open({
    shards: mysqlShards(urls),
    indexes: allIndexes,
    onWarning: () => undefined,
  })
  let checkedMissing = 0
  let checkedDangling = 0
  try {
    await sweep(store, { graceMs: 0 })
    for (const { name } of allIndexes) {
      const { missing, dangling, misplaced, unsettled } = await checkIndex(store, name, { settleMs: 0 })
      checkedMissing += missing + unsettled
      checkedDangling += dangling + misplaced
    }
  } finally {
    await store.close()
  }
  const after = await compareTables(tables)
  return {
    entities: after.entities,
    rows: after.rows,
    missingBeforeSweep: before.missing.length,
    danglingBeforeSweep: before.dangling.length,
    missing: after.missing.length,
    dangling: after.dangling.length,
    checkedMissing,
    checkedDangling,
    leakedConnections,
    wrongs: [
      ...before.missing.slice(0, 5).map((row) => `missing before the sweep: ${row}`),
      ...after.missing.slice(0, 5).map((row) => `missing after the sweep: ${row}`),
      ...after.dangling.slice(0, 5).map((row) => `dangling after the sweep: ${row}`),
      ...(checkedMissing + checkedDangling > 0
        ? [`checkIndex counts ${checkedMissing} missing and ${checkedDangling} dangling after the sweep`]
        : []),
      ...(leakedConnections > 0 ? [`${leakedConnections} connections are left on the servers`] : []),
    ],
  }
}

/** Waits until the servers have no connection of the load any more; answers how many stay. */
async function untilQuiet(
  tables: Tables,
  urls: readonly string[],
  user: string | undefined,
): Promise<number> {
  const deadline = performance.now() + UNTIL_QUIET_MS
  for (;;) {
    let left = 0
    for (const shard of urls.keys()) {
      const found = await tables.ask(shard, 'SHOW PROCESSLIST')
      const own = await tables.ask(shard, 'SELECT CONNECTION_ID() AS id, DATABASE() AS db')
      left += found.filter(
        (row) =>
          row['db'] === own[0]?.['db'] &&
          row['Id'] !== own[0]?.['id'] &&
          (user === undefined || row['User'] === user),
      ).length
    }
    if (left === 0 || performance.now() > deadline) return left
    await sleep(50)
  }
}
