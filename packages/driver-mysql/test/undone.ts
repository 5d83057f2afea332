import type { Connection, RowDataPacket } from 'mysql2/promise'
import { threadsAt } from './bench.ts'
import { until } from './until.ts'

const CANNOT_CONVERT = 3854

/** Waits until no transaction is open in the database of this connection. */
export async function undone(observer: Connection): Promise<void> {
  await until(async () => {
    const threads = await threadsAt(observer)
    const open = await openThreads(observer)
    return open !== undefined && !threads.some((thread) => open.includes(thread))
  })
}

/** Returns the threads with a transaction. Undefined while MySQL refuses, because one of them executes a prepared statement with binary values. */
async function openThreads(observer: Connection): Promise<readonly number[] | undefined> {
  try {
    const [rows] = await observer.query<RowDataPacket[]>(
      'SELECT trx_mysql_thread_id AS thread FROM information_schema.innodb_trx',
    )
    return rows.map(({ thread }) => Number(thread))
  } catch (error) {
    if ((error as { readonly errno?: number }).errno === CANNOT_CONVERT) return undefined
    throw error
  }
}
