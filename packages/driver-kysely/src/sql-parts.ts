import { LooseleafError } from '@looseleaf/core'
import { sql, type RawBuilder } from 'kysely'

/** A place for one parameter. Statements are compiled once for all values, so the value here is never sent. */
export const slot: RawBuilder<unknown> = sql`${null}`

/** `?, ?, ?` */
export function slots(count: number): RawBuilder<unknown> {
  return sql.join(Array.from({ length: count }, () => slot))
}

/** `(?, ?), (?, ?)` */
export function slotRows(rows: number, width: number): RawBuilder<unknown> {
  return sql.join(Array.from({ length: rows }, () => sql`(${slots(width)})`))
}

export function and(conditions: readonly RawBuilder<unknown>[]): RawBuilder<unknown> {
  return conditions.length === 0 ? sql`1 = 1` : sql.join(conditions, sql` AND `)
}

export function or(conditions: readonly RawBuilder<unknown>[]): RawBuilder<unknown> {
  return sql`(${sql.join(conditions, sql` OR `)})`
}

/** Rows that one write call may have. A call is one statement, and a statement has to stay a sensible one. */
export const MAX_WRITE_ROWS = 500

/** Throws `BAD_OPTION` for a write that is too large for one statement. */
export function checkWriteRows(table: string, count: number): void {
  if (count <= MAX_WRITE_ROWS) return
  throw new LooseleafError(
    'BAD_OPTION',
    `A write to ${table} is one statement of ${MAX_WRITE_ROWS} rows at the most; got ${count}.`,
  )
}

/** Ids that one reading statement asks for; longer lists become several. */
const MAX_READ_IDS = 512

/**
 * How many parts a statement of so many gets: up to the next eighth of a power of two. Few lengths mean few statements to
 * compile, and an eighth at most is sent for nothing.
 */
export function roundedUp(length: number): number {
  const step = Math.max(1, 2 ** (Math.floor(Math.log2(length)) - 3))
  return Math.ceil(length / step) * step
}

/** The next power of two, or the number itself. */
export function toPowerOfTwo(length: number): number {
  return 2 ** Math.ceil(Math.log2(length))
}

/**
 * Cuts a list of ids into statements' worth, each rounded up to a power of two by repeating its last id: so few lengths that a
 * connection keeps all of them prepared. A server finds an id that it has found already for next to nothing.
 */
export function idChunks(ids: readonly Uint8Array[]): readonly (readonly Uint8Array[])[] {
  const chunks: Uint8Array[][] = []
  for (let start = 0; start < ids.length; start += MAX_READ_IDS) {
    const chunk = ids.slice(start, start + MAX_READ_IDS)
    const length = toPowerOfTwo(chunk.length)
    const last = chunk[chunk.length - 1] as Uint8Array
    while (chunk.length < length) chunk.push(last)
    chunks.push(chunk)
  }
  return chunks
}
