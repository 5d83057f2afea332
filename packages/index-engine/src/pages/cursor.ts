import { hash as digestOf } from 'node:crypto'
import { LooseleafError, type IndexDefinitionData } from '@looseleaf/core'
import {
  describeKind,
  getOrInsert,
  ID_BYTES,
  isBytes,
  STRING_KEY_BYTES,
  type ColumnType,
  type Direction,
  type Key,
  type KeyRange,
  type KeyValue,
} from '@looseleaf/core/internal'
import { rangeOf } from '../conditions/key-ranges.ts'
import type { ParsedWhere } from '../conditions/parse-where.ts'
import type { QueryOrder } from '../definitions/index-reader.ts'
import { openIndex } from '../keys/open-index.ts'

export interface RowPlace {
  readonly key: Key
  /** 16 bytes. */
  readonly entityId: Uint8Array
  /** Stamp of the row, if it comes from a scan. */
  readonly version?: number | undefined
}

/** The start of a page and the direction of reading: the content of a cursor. */
export interface PageStart extends RowPlace {
  /** True if the page lies before this place, so that its rows are read against the query's order. */
  readonly backward: boolean
  /** Whether the page includes the row at this place. */
  readonly inclusive: boolean
}

/** The query that a cursor belongs to. */
export interface CursorScope {
  readonly name: string
  readonly types: readonly ColumnType[]
  readonly directions: readonly Direction[]
  /** The key of every row of the query begins with one of these prefixes. */
  readonly ranges: readonly Pick<KeyRange, 'prefix'>[]
  readonly order: QueryOrder
  /** Computed with the first cursor, because many pages neither take nor give one. */
  hashes(): ScopeHashes
}

/** 8 bytes each. */
interface ScopeHashes {
  readonly index: Buffer
  readonly where: Buffer
}

/** Format 1: a forward page behind a place. Format 2, added later: every other page. */
const FORMATS = { behind: 1, other: 2 }
/** Bits of the byte after the format. */
const DESCENDING = 1
const BACKWARD = 2
const INCLUSIVE = 4
const HASH_BYTES = 8
const CHECKSUM_BYTES = 6
const HEADER_BYTES = 2 + 2 * HASH_BYTES + ID_BYTES
/** Longer than the cursor of the longest key, which has five strings and three uuids. */
const MAX_CURSOR_LENGTH = 4096

export function cursorScope(
  index: IndexDefinitionData & { readonly generation: number },
  where: ParsedWhere,
  order: QueryOrder,
): CursorScope {
  return {
    name: index.name,
    types: openIndex(index).types,
    directions: where.directions,
    ranges: where.ranges,
    order,
    hashes: once(() => ({
      index: getOrInsert(indexHashes, index, () => hash(`${index.name} ${index.generation}`, HASH_BYTES)),
      where: hash(conditionsText(where), HASH_BYTES),
    })),
  }
}

/**
 * The scope of an intersection. Its places are the parts of keys after the prefix of each range. The order of the conditions makes no
 * difference.
 */
export function intersectionScope(
  conditions: readonly {
    readonly index: IndexDefinitionData & { readonly generation: number }
    readonly where: ParsedWhere
  }[],
  scope: Pick<CursorScope, 'name' | 'types' | 'directions' | 'order'>,
): CursorScope {
  const indexes = conditions.map(({ index }) => `${index.name} ${index.generation}`)
  const wheresText = (): string =>
    conditions
      .map(({ where }, i) => `${indexes[i]} ${conditionsText(where)}`)
      .toSorted()
      .join(' & ')
  return {
    ...scope,
    ranges: [{ prefix: [] }],
    hashes: once(() => ({
      // The name of an index has no `&`, so this differs from the hash of any single index.
      index: hash(`& ${indexes.toSorted().join(' & ')}`, HASH_BYTES),
      where: hash(wheresText(), HASH_BYTES),
    })),
  }
}

/** By catalog entry, which stays the same object until the process reads another catalog. */
const indexHashes = new WeakMap<object, Buffer>()

function once<T>(make: () => T): () => T {
  let made: T | undefined
  return () => (made ??= make())
}

function conditionsText(where: ParsedWhere): string {
  const bound = (side: ParsedWhere['lower']): string =>
    side === undefined ? '-' : `${side.inclusive ? '=' : '≠'}${textOf(side.value)}`
  // An empty list matches nothing; no values match everything. Their texts differ.
  let text = where.equal.length === 0 ? 'none ' : ''
  for (const [i, key] of where.equal.entries()) {
    // The text of a value never contains the separator.
    if (i > 0) text += '| '
    for (const value of key) text += `${textOf(value)} `
  }
  return `${text}${bound(where.lower)} ${bound(where.upper)}`
}

/**
 * Encodes the start of a page as base64url. The text contains the key of a row, so it reveals the indexed values. It is not signed:
 * it decides where a query continues, never which entities a caller may read.
 */
export function encodeCursor(scope: CursorScope, start: PageStart): string {
  const { index, where } = scope.hashes()
  const keyBytes = start.key.reduce<number>((sum, value) => sum + bytesOf(value), 0)
  const bytes = Buffer.allocUnsafe(HEADER_BYTES + keyBytes + CHECKSUM_BYTES)
  bytes[0] = formatOf(start)
  bytes[1] = wayByte(scope.order, start)
  bytes.set(index, 2)
  bytes.set(where, 2 + HASH_BYTES)
  bytes.set(start.entityId, 2 + 2 * HASH_BYTES)
  let end = HEADER_BYTES
  for (const value of start.key) end = writeValue(bytes, end, value)
  bytes.set(hash(bytes.subarray(0, end), CHECKSUM_BYTES), end)
  return bytes.toString('base64url')
}

/** Decodes a cursor of this query. Throws `BAD_CURSOR`, and nothing else, for any other input. */
export function decodeCursor(scope: CursorScope, cursor: unknown): PageStart {
  if (typeof cursor !== 'string') refuse(scope, `has to be a string; got ${describeKind(cursor)}`)
  if (cursor.length > MAX_CURSOR_LENGTH) {
    refuse(scope, `is longer than any cursor: ${cursor.length} characters`)
  }
  const bytes = Buffer.from(cursor, 'base64url')
  const payload = bytes.subarray(0, -CHECKSUM_BYTES)
  // Buffer.from skips characters that are not base64url, but a cursor has one form only.
  const whole = bytes.length >= HEADER_BYTES + CHECKSUM_BYTES && bytes.toString('base64url') === cursor
  if (!whole || !hash(payload, CHECKSUM_BYTES).equals(bytes.subarray(-CHECKSUM_BYTES))) {
    refuse(scope, 'is damaged, or was not made by a query')
  }
  const way = payload[1] as number
  const start = { backward: (way & BACKWARD) > 0, inclusive: (way & INCLUSIVE) > 0 }
  if (payload[0] !== formatOf(start)) refuse(scope, 'has a format that this version does not know')
  const { index, where } = scope.hashes()
  if (!index.equals(payload.subarray(2, 2 + HASH_BYTES)))
    refuse(scope, 'belongs to another index, or to an earlier definition of it')
  if (!where.equals(payload.subarray(2 + HASH_BYTES, 2 + 2 * HASH_BYTES)))
    refuse(scope, 'belongs to a query with another where')
  if (way !== wayByte(scope.order, start))
    refuse(scope, `belongs to a query in another order than ${scope.order}`)
  const entityId = payload.subarray(2 + 2 * HASH_BYTES, HEADER_BYTES)
  const key = decodeKey(scope.types, payload.subarray(HEADER_BYTES))
  if (key === undefined || rangeOf(scope.ranges, key, scope.directions) === -1) {
    refuse(scope, 'is damaged: its place is not one of this index')
  }
  return { key, entityId, ...start }
}

function bytesOf(value: KeyValue): number {
  return isBytes(value) ? 2 + value.length : 8
}

/** Returns the offset of the next value. */
function writeValue(bytes: Buffer, offset: number, value: KeyValue): number {
  if (typeof value === 'bigint') return bytes.writeBigInt64BE(value, offset)
  if (typeof value === 'number') return bytes.writeDoubleBE(value, offset)
  bytes.set(value, bytes.writeUInt16BE(value.length, offset))
  return offset + bytesOf(value)
}

/** Decodes a key of these types; undefined if the bytes are anything else. */
function decodeKey(types: readonly ColumnType[], bytes: Buffer): Key | undefined {
  const key: KeyValue[] = []
  let offset = 0
  for (const type of types) {
    const inBytes = type === 'uuid' || type === 'string'
    if (bytes.length < offset + (inBytes ? 2 : 8)) return undefined
    if (inBytes) {
      const length = bytes.readUInt16BE(offset)
      offset += 2
      const fits = type === 'uuid' ? length === ID_BYTES : length <= STRING_KEY_BYTES
      if (!fits || bytes.length < offset + length) return undefined
      key.push(bytes.subarray(offset, offset + length))
      offset += length
      continue
    }
    const value = type === 'number' ? bytes.readDoubleBE(offset) : bytes.readBigInt64BE(offset)
    if (typeof value === 'number' && !Number.isFinite(value)) return undefined
    key.push(value)
    offset += 8
  }
  return offset === bytes.length ? key : undefined
}

type PageWay = Pick<PageStart, 'backward' | 'inclusive'>

function formatOf({ backward, inclusive }: PageWay): number {
  return backward || inclusive ? FORMATS.other : FORMATS.behind
}

function wayByte(order: QueryOrder, { backward, inclusive }: PageWay): number {
  return (order === 'asc' ? 0 : DESCENDING) | (backward ? BACKWARD : 0) | (inclusive ? INCLUSIVE : 0)
}

function textOf(value: KeyValue): string {
  return isBytes(value) ? Buffer.from(value).toString('hex') || '""' : String(value)
}

function hash(data: string | Uint8Array, bytes: number): Buffer {
  // A digest as text takes a quarter of the time of one as a Buffer.
  return Buffer.from(digestOf('sha256', data, 'hex').slice(0, 2 * bytes), 'hex')
}

function refuse(scope: CursorScope, problem: string): never {
  throw new LooseleafError(
    'BAD_CURSOR',
    `The cursor for index ${scope.name} ${problem}. Begin again without one.`,
  )
}
