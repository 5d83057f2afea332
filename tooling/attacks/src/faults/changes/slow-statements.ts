import { createConnection } from 'mysql2/promise'

/**
 * Delays some rows of statements that write entities by up to this many seconds, after their timestamps were
 * taken.
 */
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
