import { hash as digestOf } from 'node:crypto'
import {
  describeKind,
  ID_BYTES,
  LooseleafError,
  STRING_KEY_BYTES,
  type ColumnType,
  type IndexDefinitionData,
  type Key,
  type KeyValue,
} from '@looseleaf/core'
import { compareKeyValues } from './compare-keys.ts'
import { openIndex } from './open-index.ts'
import type { ParsedWhere } from './parse-where.ts'
import type { QueryOrder } from './query-types.ts'

/** A place in an index: that of a row. */
export interface RowPlace {
  readonly key: Key
  /** 16 bytes. */
  readonly entityId: Uint8Array
}

/** The query that a cursor belongs to. */
export interface CursorScope {
  readonly name: string
  readonly types: readonly ColumnType[]
  /** The values that every row of the query begins with. */
  readonly prefix: Key
  readonly order: QueryOrder
  /** 8 bytes each. */
  readonly indexHash: Buffer
  readonly whereHash: Buffer
}

const FORMAT = 1
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
  const bound = (side: ParsedWhere['lower']): string =>
    side === undefined ? '-' : `${side.inclusive ? '=' : '≠'}${textOf(side.value)}`
  const conditions = [...where.equal.map(textOf), bound(where.lower), bound(where.upper)]
  return {
    name: index.name,
    types: openIndex(index).types,
    prefix: where.range.prefix,
    order,
    indexHash: hash(`${index.name} ${index.generation}`, HASH_BYTES),
    whereHash: hash(conditions.join(' '), HASH_BYTES),
  }
}

/**
 * The cursor that goes on behind this row: base64url without a meaning to others. It holds the row's key, so it says as
 * much as the indexed values do, and it is not signed: it decides where a query goes on, never what may be read.
 */
export function encodeCursor(scope: CursorScope, place: RowPlace): string {
  const head = [
    Uint8Array.of(FORMAT, orderByte(scope.order)),
    scope.indexHash,
    scope.whereHash,
    place.entityId,
  ]
  const payload = Buffer.concat([...head, ...place.key.flatMap(encodeValue)])
  return Buffer.concat([payload, hash(payload, CHECKSUM_BYTES)]).toString('base64url')
}

/** The place of a cursor of this query. Throws `BAD_CURSOR`, and nothing else, for whatever else is given. */
export function decodeCursor(scope: CursorScope, cursor: unknown): RowPlace {
  if (typeof cursor !== 'string') refuse(scope, `has to be a string; got ${describeKind(cursor)}`)
  if (cursor.length > MAX_CURSOR_LENGTH) {
    refuse(scope, `is longer than any cursor: ${cursor.length} characters`)
  }
  const bytes = Buffer.from(cursor, 'base64url')
  const payload = bytes.subarray(0, -CHECKSUM_BYTES)
  // Decoding is lenient with letters that do not belong; a cursor has one form only.
  const whole = bytes.length > HEADER_BYTES + CHECKSUM_BYTES && bytes.toString('base64url') === cursor
  if (!whole || !hash(payload, CHECKSUM_BYTES).equals(bytes.subarray(-CHECKSUM_BYTES))) {
    refuse(scope, 'is damaged, or was not made by a query')
  }
  if (payload[0] !== FORMAT) refuse(scope, 'is of a format that this version does not know')
  const indexHash = payload.subarray(2, 2 + HASH_BYTES)
  const whereHash = payload.subarray(2 + HASH_BYTES, 2 + 2 * HASH_BYTES)
  if (!scope.indexHash.equals(indexHash))
    refuse(scope, 'is of another index, or of an earlier definition of it')
  if (!scope.whereHash.equals(whereHash)) refuse(scope, 'is of a query with another where')
  if (payload[1] !== orderByte(scope.order))
    refuse(scope, `is of a query in another order than ${scope.order}`)
  const entityId = payload.subarray(2 + 2 * HASH_BYTES, HEADER_BYTES)
  const key = decodeKey(scope.types, payload.subarray(HEADER_BYTES))
  const fits =
    key !== undefined && scope.prefix.every((value, i) => compareKeyValues(value, key[i] as KeyValue) === 0)
  if (!fits) refuse(scope, 'is damaged: its place is not one of this index')
  return { key, entityId }
}

function encodeValue(value: KeyValue): Uint8Array[] {
  const length = Buffer.alloc(value instanceof Uint8Array ? 2 : 8)
  if (value instanceof Uint8Array) {
    length.writeUInt16BE(value.length)
    return [length, value]
  }
  if (typeof value === 'bigint') length.writeBigInt64BE(value)
  else length.writeDoubleBE(value)
  return [length]
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

function orderByte(order: QueryOrder): number {
  return order === 'asc' ? 0 : 1
}

function textOf(value: KeyValue): string {
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') || '""' : String(value)
}

function hash(data: string | Uint8Array, bytes: number): Buffer {
  return digestOf('sha256', data, 'buffer').subarray(0, bytes)
}

function refuse(scope: CursorScope, problem: string): never {
  throw new LooseleafError(
    'BAD_CURSOR',
    `The cursor for index ${scope.name} ${problem}. Begin again without one.`,
  )
}
