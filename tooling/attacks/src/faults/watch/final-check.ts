import { setTimeout as sleep } from 'node:timers/promises'
import { sweep } from '@looseleaf/cleaner'
import { drainPending } from '@looseleaf/cleaner/internal'
import { checkIndexes, type IndexesCheck } from '../../lab/check-indexes.ts'
import { openStore } from '../../lab/open-store.ts'
import { holdsWithin } from '../../lab/until.ts'
import { allIndexes } from '../indexes.ts'
import { compareTables, pendingOf, type Tables } from './tables.ts'
import type { Promised } from './watcher.ts'

export interface FinalCheck {
  readonly entities: number
  readonly rows: number
  /** Missing rows before any repair; there must be none. */
  readonly missingBeforeSweep: number
  readonly danglingBeforeSweep: number
  /** Absent rows before the sweep that are allowed: pending, or written after their entity. */
  readonly excusedBeforeSweep: number
  /** Pending rows before any repair. */
  readonly pendingBeforeSweep: number
  readonly missing: number
  readonly dangling: number
  /** Missing rows according to the cleaner's own check, at the end. */
  readonly checkedMissing: number
  readonly checkedDangling: number
  /** Server connections of processes that have ended. */
  readonly leakedConnections: number
  readonly wrongs: readonly string[]
}

export interface FinalOptions {
  /** When rows must be there before the sweep. Default: always. */
  readonly promised?: Promised | undefined
  /** Time for a server to notice a lost client. */
  readonly quietMs?: number | undefined
}

/** Time for a server to notice a lost client, one of whose statements may still wait for a lock. */
const UNTIL_QUIET_MS = 15_000

/** Greatest difference between the clocks of a server and of this process. */
const CLOCKS_MS = 500

/**
 * Runs when every process of the load has ended. Checks that no row is missing, sweeps once (twice with
 * `deleteDelayMs`), and then requires exact tables.
 */
export async function checkInTheEnd(
  tables: Tables,
  urls: readonly string[],
  user: string | undefined,
  { promised = 'always', quietMs = UNTIL_QUIET_MS }: FinalOptions = {},
): Promise<FinalCheck> {
  const leakedConnections = await untilQuiet(tables, urls, user, quietMs)
  const before = await compareTables(tables)
  const pending = await tables.pending()
  const mayBeMissing = (row: string): boolean =>
    promised === 'in the end' || (promised === 'unless pending' && pending.has(pendingOf(row)))
  const unexcused = before.missing.filter((row) => !mayBeMissing(row))
  const store = await openStore(urls, { indexes: allIndexes })
  let checked: Pick<IndexesCheck, 'missing' | 'dangling'>
  let undrained: readonly string[] = []
  try {
    if (pending.size > 0) {
      await drainPending(store, { graceMs: 0 })
      const drained = await compareTables(tables)
      undrained = [
        ...drained.missing.slice(0, 5).map((row) => `missing after what was pending was written: ${row}`),
        ...[...(await tables.pending())].slice(0, 5).map((note) => `still pending: ${note}`),
      ]
    }
    const { deleteDelayMs } = store.context.catalog.current().policies
    if (deleteDelayMs > 0) {
      // A sweep draws no conclusion from a commit that a failover may still undo. The first sweep fences off
      // what a lost write has left; the second, after the delay, deletes it.
      await sleep(deleteDelayMs + CLOCKS_MS)
      await sweep(store, { graceMs: 0 })
      await sleep(deleteDelayMs + CLOCKS_MS)
    }
    await sweep(store, { graceMs: 0 })
    checked = await checkIndexes(store, allIndexes)
  } finally {
    await store.close()
  }
  const after = await compareTables(tables)
  return {
    entities: after.entities,
    rows: after.rows,
    missingBeforeSweep: unexcused.length,
    danglingBeforeSweep: before.dangling.length,
    excusedBeforeSweep: before.missing.length - unexcused.length,
    pendingBeforeSweep: pending.size,
    missing: after.missing.length,
    dangling: after.dangling.length,
    checkedMissing: checked.missing,
    checkedDangling: checked.dangling,
    leakedConnections,
    wrongs: [
      ...unexcused.slice(0, 5).map((row) => `missing before the sweep: ${row}`),
      ...undrained,
      ...after.missing.slice(0, 5).map((row) => `missing after the sweep: ${row}`),
      ...after.dangling.slice(0, 5).map((row) => `dangling after the sweep: ${row}`),
      ...(checked.missing + checked.dangling > 0
        ? [`checkIndex counts ${checked.missing} missing and ${checked.dangling} dangling after the sweep`]
        : []),
      ...(leakedConnections > 0 ? [`${leakedConnections} connections are left on the servers`] : []),
    ],
  }
}

/** Waits until the servers have no connections of the load; returns the number that remain. */
async function untilQuiet(
  tables: Tables,
  urls: readonly string[],
  user: string | undefined,
  quietMs: number,
): Promise<number> {
  let left = 0
  await holdsWithin(quietMs, async () => {
    left = 0
    for (const shard of urls.keys()) {
      const found = await tables.ask(shard, 'SHOW PROCESSLIST')
      const own = await tables.ask(shard, 'SELECT CONNECTION_ID() AS id, DATABASE() AS db')
      // A separate user of the load may have connections without a database. Without such a user, the
      // database tells its connections from ours.
      left += found.filter((row) =>
        user === undefined
          ? row['db'] === own[0]?.['db'] && row['Id'] !== own[0]?.['id']
          : row['User'] === user,
      ).length
    }
    return left === 0
  })
  return left
}
