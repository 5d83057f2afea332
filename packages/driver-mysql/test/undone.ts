import type { Connection, RowDataPacket } from 'mysql2/promise'
import { until } from './until.ts'

/** Waits until nobody has a transaction open in the database of this connection. */
export async function undone(observer: Connection): Promise<void> {
  await until(async () => {
    const [rows] = await observer.query<RowDataPacket[]>(
      `SELECT 1 FROM information_schema.innodb_trx AS t
       JOIN information_schema.processlist AS p ON p.id = t.trx_mysql_thread_id WHERE p.db = DATABASE()`,
    )
    return rows.length === 0
  })
}
