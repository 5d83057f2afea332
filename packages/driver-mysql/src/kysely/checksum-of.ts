import { sql, type RawBuilder } from 'kysely'

/** CRC-32 of a body, as in zlib; NULL for NULL. */
export function checksumOf(body: RawBuilder<unknown>): RawBuilder<number> {
  return sql<number>`CRC32(${body})`
}
