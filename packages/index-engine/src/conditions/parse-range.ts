import {
  compareKeyValues,
  STRING_PREFIX_BYTES,
  isBytes,
  type KeyRange,
  type KeyValue,
} from '@looseleaf/core/internal'
import { clip } from '../definitions/bad-index.ts'
import type { BuiltInKey } from '../definitions/key-functions.ts'
import type { OpenProperty } from '../keys/open-index.ts'
import { refuse, valueOf } from './parse-value.ts'
import { valueBeside } from './value-beside.ts'

/** A bound of a query, with the whole of a string. */
export interface ExactBound {
  readonly value: KeyValue
  readonly inclusive: boolean
}

const OPERATORS = ['gt', 'gte', 'lt', 'lte'] as const
type Operator = (typeof OPERATORS)[number]

/** The first value of a key, and all of its values, for messages. */
const PERIODS: ReadonlyMap<string, readonly [first: string, all: string]> = new Map<
  BuiltInKey,
  readonly [string, string]
>([
  ['hour', ['the beginning of an hour in UTC', 'the whole hour']],
  ['day', ['the beginning of a day in UTC', 'the whole day']],
  ['month', ['the beginning of a month in UTC', 'the whole month']],
])

export interface Bounds {
  readonly scan: Pick<KeyRange, 'lower' | 'upper'>
  readonly lower: ExactBound | undefined
  readonly upper: ExactBound | undefined
}

/**
 * Checks a range of a property. Throws `BAD_QUERY`, also for a `lt` or `gt` that lies among values with the same key: keys cannot tell
 * which of them are in the range.
 */
export function parseRange(index: string, property: OpenProperty, range: Record<string, unknown>): Bounds {
  const { name, isOrdered } = property
  if (!isOrdered) refuse(index, `has hashes of ${name}, which have no order; it needs a value`)
  const operators = Object.keys(range)
  for (const operator of operators) {
    if (!isOperator(operator) && operator !== 'startsWith') {
      refuse(
        index,
        `has no condition ${clip(operator)} for ${name}; there are gt, gte, lt, lte and in, and startsWith for strings`,
      )
    }
  }
  if (operators.length === 0)
    refuse(
      index,
      `got an empty range for ${name}; it needs gt, gte, lt, lte or in, or startsWith for strings`,
    )
  if (Object.hasOwn(range, 'startsWith')) {
    if (operators.length > 1) refuse(index, `got startsWith and other bounds for ${name}; it goes alone`)
    return boundsOf(...beginningWith(index, property, range['startsWith']))
  }
  const bound = (open: 'gt' | 'lt', closed: 'gte' | 'lte'): ExactBound | undefined => {
    if (Object.hasOwn(range, open) && Object.hasOwn(range, closed)) {
      refuse(index, `got both ${open} and ${closed} for ${name}; one of them is needed`)
    }
    const operator = Object.hasOwn(range, open) ? open : closed
    if (!Object.hasOwn(range, operator)) return undefined
    const value = boundOf(index, property, range[operator], `a value for ${operator}`)
    if (operator === open) requireWholeKeys(index, property, open, range[operator], value)
    return { value, inclusive: operator === closed }
  }
  return boundsOf(bound('gt', 'gte'), bound('lt', 'lte'))
}

/**
 * Refuses a `lt` or `gt` if the value next to it, on the side of the range, has the same key. A range without that key would leave out a
 * value that lies in it, and a range with it would take in values that do not, which `deleteWhere` of a kind would delete.
 */
function requireWholeKeys(
  index: string,
  property: OpenProperty,
  operator: 'gt' | 'lt',
  given: unknown,
  bound: KeyValue,
): void {
  const { name, type, key, keepsBeginnings } = property
  // Other keys of strings, such as hosts, have an order of their own, in which a range means keys.
  if (key === undefined || (type === 'string' && !keepsBeginnings)) return
  const beside = property.toCells(valueBeside(type, given, operator === 'lt' ? -1 : 1))
  if ('misfit' in beside || compareKeyValues(beside.exact.at(-1) as KeyValue, bound) !== 0) return
  const [first, all] = PERIODS.get(key) ?? ['the first value of a key', 'all values of its key']
  refuse(
    index,
    operator === 'lt'
      ? `knows ${name} by its ${key} only, and lt would leave out smaller values with the same ${key}. Give lt ${first}, or give lte, which takes in ${all}`
      : `knows ${name} by its ${key} only, and gt would leave out greater values with the same ${key}. Give gte, which takes in ${all}, or give gte ${first} to begin there`,
  )
}

/** Makes bounds for a scan from exact ones. */
export function boundsOf(lower: ExactBound | undefined, upper: ExactBound | undefined): Bounds {
  return {
    lower,
    upper,
    scan: {
      ...(lower === undefined ? {} : { lower: widened(lower, 'lower') }),
      ...(upper === undefined ? {} : { upper: widened(upper, 'upper') }),
    },
  }
}

/** Returns the bounds of all strings with this beginning. The upper one is the least string after all of them. */
function beginningWith(
  index: string,
  property: OpenProperty,
  beginning: unknown,
): [lower: ExactBound | undefined, upper: ExactBound | undefined] {
  const { name, type, key, keepsBeginnings } = property
  if (!keepsBeginnings) {
    const has = type === 'string' ? 'has keys that do not begin as its values do' : `is of type ${type}`
    refuse(
      index,
      `knows startsWith for strings, and for their keys lower, lowerNfc and prefix(n); ${name} ${has}`,
    )
  }
  const bytes = boundOf(index, property, beginning, 'a string for startsWith') as Uint8Array
  // Every string begins with the empty string.
  if (bytes.length === 0) return [{ value: bytes, inclusive: true }, undefined]
  const [least, greatest] = key === 'lower' || key === 'lowerNfc' ? eachSigma(bytes) : [bytes, bytes]
  // The last byte can grow, because UTF-8 has no byte 0xff.
  const last = greatest.length - 1
  const after = Buffer.from(greatest)
  after[last] = (greatest[last] as number) + 1
  return [
    { value: least, inclusive: true },
    { value: after, inclusive: false },
  ]
}

/**
 * Returns the least and the greatest lower case of a beginning. They differ in a last Σ: it is ς at the end of a word and σ before another
 * letter, and the beginning does not tell which of them follows. No other character lies between the two.
 */
function eachSigma(bytes: Uint8Array): [least: Uint8Array, greatest: Uint8Array] {
  const text = Buffer.from(bytes).toString()
  if (!/[ςσ]$/.test(text)) return [bytes, bytes]
  return [Buffer.from(`${text.slice(0, -1)}ς`), Buffer.from(`${text.slice(0, -1)}σ`)]
}

const AFTER_EVERY_HASH = Buffer.alloc(32, 0xff)

/**
 * Widens a bound on a long string to all strings with its beginning. The index keeps a long string as a beginning and a hash, and the
 * hash says nothing about the order. The check against the bag removes the surplus.
 */
function widened(bound: ExactBound, side: 'lower' | 'upper'): ExactBound {
  const { value } = bound
  if (!isBytes(value) || value.length <= STRING_PREFIX_BYTES) return bound
  const beginning = value.subarray(0, STRING_PREFIX_BYTES)
  return {
    value: side === 'lower' ? beginning : Buffer.concat([beginning, AFTER_EVERY_HASH]),
    inclusive: true,
  }
}

/** Returns the exact value of a bound. Null is no bound, even if the index has rows for it. */
function boundOf(index: string, property: OpenProperty, value: unknown, expected: string): KeyValue {
  if (value === null) refuse(index, `needs ${expected} for ${property.name}; got null, which has no order`)
  return valueOf(index, property, value, expected).exact.at(-1) as KeyValue
}

function isOperator(text: string): text is Operator {
  return (OPERATORS as readonly string[]).includes(text)
}
