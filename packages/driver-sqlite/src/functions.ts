import { crc32 } from 'node:zlib'
import Database from 'better-sqlite3'

/** Function of CRC-32, which SQLite lacks. */
export const CHECKSUM_FUNCTION = 'looseleaf_crc32'

/** Function that returns its value, and fails for NULL. */
export const REQUIRED_FUNCTION = 'looseleaf_required'

/** Result code of a NULL that the second function refuses. */
const REFUSED = 'SQLITE_CONSTRAINT_NOTNULL'

/** Adds the functions to a connection. SQLite passes one body at a time, so a page of long bodies takes the memory of one. */
export function addFunctions(database: Database.Database): void {
  database.function(CHECKSUM_FUNCTION, { deterministic: true }, (body: unknown) =>
    body === null ? null : crc32(body as Buffer),
  )
  database.function(REQUIRED_FUNCTION, { deterministic: true }, (value: unknown) => {
    if (value === null) throw new Database.SqliteError('a required value is NULL', REFUSED)
    return value
  })
}
