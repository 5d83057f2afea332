import { platformTime } from '@looseleaf/core/internal'
import { notStreamed, type OpenSnapshot } from '@looseleaf/driver-kysely/internal'
import type { Pool } from './pool.ts'

/** Makes the function that opens snapshots on the connections of a pool. Each statement has the deadline of a call, within the snapshot's time. */
export function snapshotsOf(pool: Pick<Pool, 'acquire' | 'release'>, deadlineMs: number): OpenSnapshot {
  return async ({ maxMs, signal }) => {
    const connection = await pool.acquire(signal)
    const until = platformTime.elapsed() + maxMs
    const begin = (latest: number): void =>
      connection.begin(Math.min(platformTime.elapsed() + deadlineMs, latest))
    try {
      await connection.startSnapshot()
    } catch (error) {
      // The transaction may have begun, so the connection must not return to the pool.
      connection.destroy()
      pool.release(connection)
      throw error
    }
    return {
      async executeQuery(query) {
        begin(until)
        return connection.executeQuery(query)
      },
      streamQuery: notStreamed,
      async release(isIntact) {
        try {
          begin(Infinity)
          if (isIntact) await connection.endSnapshot()
          else connection.destroy()
        } catch {
          connection.destroy()
        } finally {
          pool.release(connection)
        }
      },
    }
  }
}
