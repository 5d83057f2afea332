import { msgpackZlibCodec, parseId, type Router } from 'looseleaf'
import { createConnection, type Pool, type RowDataPacket } from 'mysql2/promise'
import { micros, type LayoutName } from '../workload/indexes.ts'
import { byShard } from './index-rows.ts'
import type { Side } from './side.ts'

/** Microseconds of a lease. */
const LEASE = 60_000_000

/**
 * The queue that a team would write by hand: one table of jobs on the shard of their stripe. A worker locks due jobs, skips those that others have
 * locked, gives them a lease, and commits. With READ COMMITTED no gap between jobs is locked. A deadlock is tried again. In `wholeQueue` a worker
 * takes from all jobs of a server, as programs do that have not met the waits of many workers for the same rows.
 */
export async function createJobTable(databases: readonly string[], layout: LayoutName): Promise<void> {
  for (const uri of databases) {
    const connection = await createConnection({ uri })
    await connection.query(`CREATE TABLE jobs (
      id BINARY(16) NOT NULL PRIMARY KEY,
      stripe VARCHAR(40) CHARACTER SET ascii NOT NULL,
      due BIGINT NOT NULL,
      body LONGBLOB NOT NULL,
      KEY (${layout === 'queue' ? 'stripe, due' : 'due'})
    )`)
    await connection.end()
  }
}

export function queueByHand(
  pools: readonly Pool[],
  router: Router,
  layout: LayoutName,
): Required<Pick<Side, 'fill' | 'takeAndFinish'>> {
  const codec = msgpackZlibCodec()
  const shardOf = (stripe: string): number => router.shardOfKey(Buffer.from(stripe))
  const ofStripe = layout === 'queue' ? 'stripe = ? AND ' : ''
  const poolOf = (stripe: string): Pool => pools[shardOf(stripe)] as Pool

  for (const pool of pools)
    pool.pool.on('connection', (connection) => {
      connection.query('SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED')
    })

  /** Locks due jobs and moves them behind the end of their lease. Returns their ids. */
  async function take(stripe: string, limit: number): Promise<{ ids: Buffer[]; lease: number }> {
    const connection = await poolOf(stripe).getConnection()
    const now = Date.now() * 1000
    const lease = now + LEASE
    try {
      await connection.beginTransaction()
      const [rows] = await connection.execute<(RowDataPacket & { id: Buffer; body: Buffer })[]>(
        `SELECT id, body FROM jobs WHERE ${ofStripe}due <= ? ORDER BY due LIMIT ${limit} FOR UPDATE SKIP LOCKED`,
        layout === 'queue' ? [stripe, now] : [now],
      )
      for (const { body } of rows) codec.decode(body)
      const ids = rows.map(({ id }) => id)
      if (ids.length > 0)
        await connection.execute(`UPDATE jobs SET due = ? WHERE id IN (${ids.map(() => '?').join(', ')})`, [
          lease,
          ...ids,
        ])
      await connection.commit()
      return { ids, lease }
    } catch (error) {
      await connection.rollback()
      if ((error as { readonly code?: unknown }).code !== 'ER_LOCK_DEADLOCK') throw error
    } finally {
      connection.release()
    }
    return take(stripe, limit)
  }

  return {
    async fill(entries) {
      const groups = byShard(entries, ([, entry]) => shardOf(entry['stripe'] as string))
      await Promise.all(
        [...groups].map(([shard, group]) => {
          const rows = group.map(([{ id }, entry]) => [
            Buffer.from(parseId(id)),
            entry['stripe'],
            micros(entry['due'] as Date),
            Buffer.from(codec.encode(entry)),
          ])
          return (pools[shard] as Pool).query('INSERT INTO jobs (id, stripe, due, body) VALUES ?', [rows])
        }),
      )
    },
    async takeAndFinish(stripe, limit) {
      const { ids, lease } = await take(stripe, limit)
      await Promise.all(
        ids.map((id) =>
          poolOf(stripe).execute('UPDATE jobs SET due = ? WHERE id = ? AND due = ?', [
            Date.now() * 1000,
            id,
            lease,
          ]),
        ),
      )
      return ids.length
    },
  }
}
