import { crc32 } from 'node:zlib'
import type Database from 'better-sqlite3'

/** Function of CRC-32, which SQLite lacks. */
export const CHECKSUM_FUNCTION = 'looseleaf_crc32'

/** Adds the function to a connection. SQLite passes it one body at a time, so a page of long bodies takes the memory of one. */
export function addChecksumFunction(database: Database.Database): void {
  database.function(CHECKSUM_FUNCTION, { deterministic: true }, (body: unknown) =>
    body === null ? null : crc32(body as Buffer),
  )
}
