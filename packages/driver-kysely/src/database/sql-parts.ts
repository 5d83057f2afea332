import { badOption } from '@looseleaf/core/internal'
import { sql, type RawBuilder } from 'kysely'

/** The place of one parameter. A statement is compiled once for all values, so this null is never sent. */
export const parameter: RawBuilder<unknown> = sql`${null}`

/** Returns `?, ?, ?`. */
export function parameterList(count: number): RawBuilder<unknown> {
  return sql.join(Array.from({ length: count }, () => parameter))
}

/** Returns `(?, ?), (?, ?)`. */
export function parameterRows(rows: number, width: number): RawBuilder<unknown> {
  return sql.join(Array.from({ length: rows }, () => sql`(${parameterList(width)})`))
}

export function and(conditions: readonly RawBuilder<unknown>[]): RawBuilder<unknown> {
  return conditions.length === 0 ? sql`1 = 1` : sql.join(conditions, sql` AND `)
}

export function or(conditions: readonly RawBuilder<unknown>[]): RawBuilder<unknown> {
  return sql`(${sql.join(conditions, sql` OR `)})`
}

/** Largest number of rows of a write call, which is one statement. */
export const MAX_WRITE_ROWS = 500

/** Throws `BAD_OPTION` if a write has more than `MAX_WRITE_ROWS` rows. */
export function checkWriteRows(table: string, count: number): void {
  if (count <= MAX_WRITE_ROWS) return
  throw badOption(`A write to ${table} may have up to ${MAX_WRITE_ROWS} rows; got ${count}.`)
}

/** Largest number of ids of one SELECT. A longer list takes several. */
const MAX_READ_IDS = 512

/**
 * Rounds a number of parts up to a multiple of an eighth of its power of two. Few lengths mean few statements to compile, and at
 * most an eighth of the parts is filler.
 */
export function roundedUp(length: number): number {
  const step = Math.max(1, 2 ** (Math.floor(Math.log2(length)) - 3))
  return Math.ceil(length / step) * step
}

/** Rounds up to a power of two. */
export function toPowerOfTwo(length: number): number {
  return 2 ** Math.ceil(Math.log2(length))
}

/**
 * Cuts a list of ids into one chunk per statement. Each chunk repeats its last id up to a power of two, so that there are few
 * enough lengths to keep all of them prepared. Finding an id again costs a server almost nothing.
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
