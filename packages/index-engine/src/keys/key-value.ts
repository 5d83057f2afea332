import { createHash } from 'node:crypto'
import { formatId } from '@looseleaf/core'
import {
  describeKind,
  ID_BYTES,
  idBytes,
  isBytes,
  isDate,
  STRING_KEY_BYTES,
  STRING_PREFIX_BYTES,
  type ColumnType,
  type KeyValue,
} from '@looseleaf/core/internal'

/** The value as an index keeps it, or the reason why it cannot. The reason names kinds, never values. */
export type KeyValueResult =
  | {
      readonly value: KeyValue
      /** Like `value`, but with all bytes of a string. Comparisons use it. */
      readonly exact: KeyValue
    }
  | { readonly misfit: string }

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const MIN_INTEGER = -(2n ** 63n)
const MAX_INTEGER = 2n ** 63n - 1n

/**
 * Converts a property's value to the form in which an index of this type keeps it.
 *
 * - `string`: up to 512 bytes of UTF-8; of a longer string the first 512 bytes and a SHA-256 of the whole.
 * - `time`: a Date as microseconds since 1970.
 * - `integer`: a whole number up to 2^53 - 1, or a signed bigint of 64 bits.
 * - `number`: any finite number; -0 becomes 0. A bigint is a misfit.
 * - `uuid`: 16 bytes of the usual text form in either case.
 * - `boolean`: 0n or 1n.
 */
export function toKeyValue(type: ColumnType, value: unknown): KeyValueResult {
  switch (type) {
    case 'uuid': {
      const id = idBytes(value)
      return id === undefined ? misfit('a UUID string', value) : same(id)
    }
    case 'string':
      return fromString(value)
    case 'integer':
      return fromInteger(value)
    case 'number':
      if (typeof value !== 'number' || !Number.isFinite(value)) return misfit('a finite number', value)
      return same(value + 0 === 0 ? 0 : value)
    case 'boolean':
      return typeof value === 'boolean' ? same(value ? 1n : 0n) : misfit('true or false', value)
    case 'time': {
      const time = isDate(value) ? value.getTime() : Number.NaN
      return Number.isNaN(time) ? misfit('a valid Date', value) : same(microsOf(time))
    }
  }
}

/**
 * Converts the value of a column back to the value of a property. Returns undefined for a string of more than 512 bytes, which a
 * column does not hold whole, and for anything that `toKeyValue` does not return. Integers beyond 2^53 - 1 become bigints. A time loses
 * its microseconds.
 */
export function fromKeyValue(
  type: ColumnType,
  value: KeyValue,
): string | number | bigint | boolean | Date | undefined {
  switch (type) {
    case 'uuid':
      return isBytes(value) && value.length === ID_BYTES ? formatId(value) : undefined
    case 'string':
      return isBytes(value) && value.length < STRING_KEY_BYTES ? text(value) : undefined
    case 'integer':
      if (typeof value !== 'bigint') return undefined
      return Number.isSafeInteger(Number(value)) ? Number(value) : value
    case 'number':
      return typeof value === 'number' ? value : undefined
    case 'boolean':
      return typeof value === 'bigint' ? value !== 0n : undefined
    case 'time': {
      const date = new Date(typeof value === 'bigint' ? Number(value / 1000n) : Number.NaN)
      return Number.isNaN(date.getTime()) ? undefined : date
    }
  }
}

function fromString(value: unknown): KeyValueResult {
  if (typeof value !== 'string') return misfit('a string', value)
  if (!value.isWellFormed())
    return { misfit: 'a string without lone surrogates is expected, this one has some' }
  const bytes = Buffer.from(value, 'utf8')
  if (bytes.length <= STRING_PREFIX_BYTES) return same(bytes)
  const hash = createHash('sha256').update(bytes).digest()
  return { value: Buffer.concat([bytes.subarray(0, STRING_PREFIX_BYTES), hash]), exact: bytes }
}

function fromInteger(value: unknown): KeyValueResult {
  const expected = 'a whole number up to 2^53 - 1 or a bigint of 64 bits'
  if (typeof value === 'number') {
    if (!Number.isInteger(value)) return { misfit: `${expected} is expected, got a number that is not whole` }
    if (!Number.isSafeInteger(value)) return { misfit: `${expected} is expected, got a greater number` }
    return same(BigInt(value))
  }
  if (typeof value !== 'bigint') return misfit(expected, value)
  if (value < MIN_INTEGER || value > MAX_INTEGER)
    return { misfit: `${expected} is expected, got a greater bigint` }
  return same(value)
}

function text(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes)
  } catch {
    return undefined
  }
}

function same(value: KeyValue): KeyValueResult {
  return { value, exact: value }
}

function microsOf(milliseconds: number): bigint {
  const micros = milliseconds * 1000
  return Number.isSafeInteger(micros) ? BigInt(micros) : BigInt(milliseconds) * 1000n
}

function misfit(expected: string, value: unknown): KeyValueResult {
  return { misfit: `${expected} is expected, got ${describeKind(value)}` }
}
