import { hash as digestOf } from 'node:crypto'
import {
  describeKind,
  ID_BYTES,
  LooseleafError,
  STRING_KEY_BYTES,
  type ColumnType,
  type Direction,
  type IndexDefinitionData,
  type Key,
  type KeyRange,
  type KeyValue,
  isBytes,
} from '@looseleaf/core'
import { rangeOf } from './key-ranges.ts'
import { openIndex } from './open-index.ts'
import type { ParsedWhere } from './parse-where.ts'
import type { QueryOrder } from './query-types.ts'

/** A place in an index: that of a row. */
export interface RowPlace {
  readonly key: Key
  /** 16 bytes. */
  readonly entityId: Uint8Array
  /** Of the write that has stamped it last, where a scan gave it. */
  readonly version?: number | undefined
}

/** Where a page begins, and which way it is read from there: what a cursor says. */
export interface PageStart extends RowPlace {
  /** Against the query's order, for the page that stands before this place. */
  readonly backward: boolean
  /** Whether what stands at this very place is on the page. */
  readonly inclusive: boolean
}

/** The query that a cursor belongs to. */
export interface CursorScope {
  readonly name: string
  readonly types: readonly ColumnType[]
  readonly directions: readonly Direction[]
  /** The values that every row of the query begins with: one of these prefixes. */
  readonly ranges: readonly Pick<KeyRange, 'prefix'>[]
  readonly order: QueryOrder
  /** Told when a cursor is made or read: pages are planned without. */
  hashes(): ScopeHashes
}

/** 8 bytes each. */
interface ScopeHashes {
  readonly index: Buffer
  readonly where: Buffer
}

/** By how the page begins: 1 is of one that goes on behind a place, 2 of any other, which was not known from the first. */
const FORMATS = { behind: 1, other: 2 }
/** Bits of the byte behind the format. */
const DESCENDING = 1
const BACKWARD = 2
const INCLUSIVE = 4
const HASH_BYTES = 8
const CHECKSUM_BYTES = 6
const HEADER_BYTES = 2 + 2 * HASH_BYTES + ID_BYTES
/** More than the longest key makes: five strings and three uuids. */
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
    hashes: once(() => ({ index: indexHash(index), where: hash(conditionsText(where), HASH_BYTES) })),
  }
}

/** Of an intersection: places are what stands behind the prefix of each range. The order of the conditions means nothing. */
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
      // No name of an index has such a sign.
      index: hash(`& ${indexes.toSorted().join(' & ')}`, HASH_BYTES),
      where: hash(wheresText(), HASH_BYTES),
    })),
  }
}

/** Catalog entries stay the same objects for as long as a process knows them. */
const indexHashes = new WeakMap<object, Buffer>()

function indexHash(index: IndexDefinitionData & { readonly generation: number }): Buffer {
  let own = indexHashes.get(index)
  if (own === undefined) {
    own = hash(`${index.name} ${index.generation}`, HASH_BYTES)
    indexHashes.set(index, own)
  }
  return own
}

function once<T>(make: () => T): () => T {
  let made: T | undefined
  return () => (made ??= make())
}

function conditionsText(where: ParsedWhere): string {
  const bound = (side: ParsedWhere['lower']): string =>
    side === undefined ? '-' : `${side.inclusive ? '=' : '≠'}${textOf(side.value)}`
  // An empty list matches nothing, and no values at all match everything.
  let text = where.equal.length === 0 ? 'none ' : ''
  for (const [i, key] of where.equal.entries()) {
    // What keeps the ranges of a list apart is no value's text.
    if (i > 0) text += '| '
    for (const value of key) text += `${textOf(value)} `
  }
  return `${text}${bound(where.lower)} ${bound(where.upper)}`
}

/**
 * The cursor of a page: base64url without a meaning to others. It holds a row's key, so it says as much as the indexed values
 * do, and it is not signed: it decides where a query goes on, never what may be read.
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

/** What a cursor of this query says. Throws `BAD_CURSOR`, and nothing else, for whatever else is given. */
export function decodeCursor(scope: CursorScope, cursor: unknown): PageStart {
  if (typeof cursor !== 'string') refuse(scope, `has to be a string; got ${describeKind(cursor)}`)
  if (cursor.length > MAX_CURSOR_LENGTH) {
    refuse(scope, `is longer than any cursor: ${cursor.length} characters`)
  }
  const bytes = Buffer.from(cursor, 'base64url')
  const payload = bytes.subarray(0, -CHECKSUM_BYTES)
  // Decoding is lenient with letters that do not belong; a cursor has one form only.
  const whole = bytes.length >= HEADER_BYTES + CHECKSUM_BYTES && bytes.toString('base64url') === cursor
  if (!whole || !hash(payload, CHECKSUM_BYTES).equals(bytes.subarray(-CHECKSUM_BYTES))) {
    refuse(scope, 'is damaged, or was not made by a query')
  }
  const way = payload[1] as number
  const start = { backward: (way & BACKWARD) > 0, inclusive: (way & INCLUSIVE) > 0 }
  if (payload[0] !== formatOf(start)) refuse(scope, 'is of a format that this version does not know')
  const { index, where } = scope.hashes()
  if (!index.equals(payload.subarray(2, 2 + HASH_BYTES)))
    refuse(scope, 'is of another index, or of an earlier definition of it')
  if (!where.equals(payload.subarray(2 + HASH_BYTES, 2 + 2 * HASH_BYTES)))
    refuse(scope, 'is of a query with another where')
  if (way !== wayByte(scope.order, start)) refuse(scope, `is of a query in another order than ${scope.order}`)
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

/** Answers where the next one begins. */
function writeValue(bytes: Buffer, at: number, value: KeyValue): number {
  if (typeof value === 'bigint') return bytes.writeBigInt64BE(value, at)
  if (typeof value === 'number') return bytes.writeDoubleBE(value, at)
  bytes.set(value, bytes.writeUInt16BE(value.length, at))
  return at + bytesOf(value)
}

/** Undefined unless the bytes are exactly a key of these types. */
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
  // Asked for as text it takes a quarter of the time.
  return Buffer.from(digestOf('sha256', data, 'hex').slice(0, 2 * bytes), 'hex')
}

function refuse(scope: CursorScope, problem: string): never {
  throw new LooseleafError(
    'BAD_CURSOR',
    `The cursor for index ${scope.name} ${problem}. Begin again without one.`,
  )
}
