import type { Connection, RowDataPacket } from 'mysql2/promise'
import { threadsAt } from './bench.ts'
import { until } from './until.ts'

/** Waits until no transaction is open in the database of this connection. */
export async function undone(observer: Connection): Promise<void> {
  await until(async () => {
    const threads = await threadsAt(observer)
    const [rows] = await observer.query<RowDataPacket[]>(
      'SELECT trx_mysql_thread_id AS thread FROM information_schema.innodb_trx',
    )
    return !rows.some(({ thread }) => threads.includes(Number(thread)))
  })
}
