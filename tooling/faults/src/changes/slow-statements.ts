import { createConnection } from 'mysql2/promise'

/** From now on some rows of statements that write entities take up to this many seconds, after their times were taken. */
export async function slowStatements(
  adminUrls: readonly string[],
  share: number,
  seconds: number,
): Promise<void> {
  for (const uri of adminUrls) {
    const connection = await createConnection({ uri })
    try {
      for (const kind of ['INSERT', 'UPDATE']) {
        await connection.query(
          `CREATE TRIGGER slow_${kind.toLowerCase()} BEFORE ${kind} ON entities FOR EACH ROW
           SET NEW.version = NEW.version + SLEEP(IF(RAND() < ${share}, ${seconds} * RAND(), 0))`,
        )
      }
    } finally {
      await connection.end()
    }
  }
}
