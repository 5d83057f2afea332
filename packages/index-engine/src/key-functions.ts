import { createHash } from 'node:crypto'
import { describeKind, LooseleafError, type ColumnType } from '@looseleaf/core'
import { clip, isObject } from './bad-index.ts'
import type { ValueOf } from './property-types.ts'

/** What an index may keep instead of a property's value itself. */
export interface KeyFunction {
  /** As definitions and catalogs name it: `lower`, `prefix(3)`, or `slug@1` for one of a program's own. */
  readonly name: string
  /** The type of property that it takes. */
  readonly from: ColumnType
  /** The type of what it gives. */
  readonly to: ColumnType
  /**
   * The key of a value. It is given what a property holds, of its type, and what a query asks for, so that a query may give
   * any value with the same key. The same value has to give the same key on every machine, for ever.
   */
  readonly derive: (value: never) => unknown
  /** What a value has to be that it has a key of, in words, where not every value of the type has one. */
  readonly expected?: string | undefined
}

/** The key functions that every store has. A number stands in the brackets of `prefix`. */
export type BuiltInKey =
  | 'lower'
  | 'lowerNfc'
  | `prefix(${number})`
  | 'host'
  | 'hash'
  | 'hour'
  | 'day'
  | 'month'

export interface KeyOptions<F extends ColumnType = ColumnType, T extends ColumnType = F> {
  /** Lower case letters, digits and `_`, beginning with a letter; at most 40 of them. */
  readonly name: string
  /** From 1 on. A function that gives another key for any value is another version, and an index with it another index. */
  readonly version: number
  readonly from: F
  /** The type of what it gives. Default: as `from`. */
  readonly to?: T | undefined
  /** A method by its type, so that it may be written for `number` where integers may be `bigint` too. */
  derive(value: ValueOf<F>): ValueOf<T> | null | undefined
}

const OPTIONS: readonly string[] = ['name', 'version', 'from', 'to', 'derive'] satisfies (keyof KeyOptions)[]
const NAME = /^[a-z][a-z0-9_]{0,39}$/
const PREFIX = /^prefix\(([1-9][0-9]{0,2})\)$/
export const COLUMN_TYPES: readonly ColumnType[] = ['uuid', 'string', 'integer', 'number', 'boolean', 'time']

const text = (name: string, derive: (value: string) => string | undefined): KeyFunction => ({
  name,
  from: 'string',
  to: 'string',
  derive,
})
const bucket = (name: string, derive: (time: Date) => number): KeyFunction => ({
  name,
  from: 'time',
  to: 'time',
  derive: (time: Date) => new Date(derive(time)),
})

const builtIn: readonly KeyFunction[] = [
  text('lower', (value) => value.toLowerCase()),
  // Composed before as well, since the case of a letter may depend on the marks behind it.
  text('lowerNfc', (value) => value.normalize('NFC').toLowerCase().normalize('NFC')),
  { ...text('host', hostOf), expected: 'a URL with a host, or a host name' },
  { name: 'hash', from: 'string', to: 'uuid', derive: hashOf },
  bucket('hour', (time) => Math.floor(time.getTime() / HOUR_MS) * HOUR_MS),
  bucket('day', (time) => Math.floor(time.getTime() / DAY_MS) * DAY_MS),
  bucket('month', (time) => new Date(time).setUTCHours(0, 0, 0, 0) - (time.getUTCDate() - 1) * DAY_MS),
]
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** By name, those of programs too: an index is defined, and its catalog understood, wherever a program has named them. */
const known = new Map(builtIn.map((each) => [each.name, each]))

/** The key function of this name; undefined where this process does not have it. */
export function keyFunction(name: string): KeyFunction | undefined {
  const found = known.get(name)
  if (found !== undefined) return found
  const length = Number(PREFIX.exec(name)?.[1] ?? 0)
  if (length === 0) return undefined
  const made = text(name, (value) => firstCharacters(value, length))
  known.set(name, made)
  return made
}

/** The same, where one has to be known. Throws `STORE_TOO_NEW`. */
export function requireKey(name: string, shard?: string): KeyFunction {
  const found = keyFunction(name)
  if (found !== undefined) return found
  throw new LooseleafError(
    'STORE_TOO_NEW',
    `${shard === undefined ? 'The' : `Shard ${shard}: the`} store has an index by the key ${name}, which this process does not know. Nothing was written. Define it with defineKey before the store is opened, or update the Looseleaf packages of this process.`,
    { shard },
  )
}

/**
 * A key function of one's own, for the `key` of a property of an index. It is known in the whole process from then on, and has to
 * be defined in every process that opens a store with such an index, the cleaner's included: one without it refuses with
 * `STORE_TOO_NEW`. A value for which it throws, or gives nothing, is a misfit. It is told from another one of its name and version by
 * its text, so what it goes by has to stand in it, or in its name. Throws `BAD_INDEX`.
 */
export function defineKey<const F extends ColumnType, const T extends ColumnType = F>(
  options: KeyOptions<F, T>,
): KeyFunction {
  if (!isObject(options))
    refuse(
      'A key',
      "is defined by options such as { name: 'slug', version: 1, from: 'string', derive }",
      options,
    )
  const { name, version, from, to = from, derive } = options
  if (typeof name !== 'string' || !NAME.test(name)) {
    refuse('The name of a key', 'begins with a letter and has lower case letters, digits and "_"', name)
  }
  if (!Number.isSafeInteger(version) || version < 1) {
    refuse(`The version of the key ${name}`, 'is a whole number from 1 on', version)
  }
  for (const type of [from, to]) {
    if (!COLUMN_TYPES.includes(type))
      refuse(`The key ${name}`, `is from and to ${COLUMN_TYPES.join(', ')}`, type)
  }
  for (const option of Object.keys(options)) {
    if (OPTIONS.includes(option)) continue
    throw new LooseleafError(
      'BAD_INDEX',
      `The key ${name} has no option "${clip(option)}"; there are ${OPTIONS.join(', ')}.`,
    )
  }
  if (typeof derive !== 'function') refuse(`The key ${name}`, 'needs a function as derive', derive)
  const made: KeyFunction = Object.freeze({ name: `${name}@${version}`, from, to, derive })
  const before = known.get(made.name)
  // A module may be loaded twice, by a tool that reloads what has changed.
  if (before !== undefined && !isSame(before, made)) {
    throw new LooseleafError(
      'BAD_INDEX',
      `The key ${made.name} is defined twice, differently. A definition that gives other keys needs another version.`,
    )
  }
  known.set(made.name, made)
  return made
}

function isSame(a: KeyFunction, b: KeyFunction): boolean {
  return a.from === b.from && a.to === b.to && String(a.derive) === String(b.derive)
}

function firstCharacters(value: string, count: number): string {
  let end = 0
  for (let i = 0; i < count && end < value.length; i++) {
    end += (value.codePointAt(end) as number) > 0xffff ? 2 : 1
  }
  return value.slice(0, end)
}

/** The host name in a URL, without a port; of a host name, itself; nothing for anything else. */
function hostOf(value: string): string | undefined {
  const host = hostIn(value) || (BARE_HOST.test(value) && hostIn(`https://${value}`))
  return host ? host.toLowerCase() : undefined
}

const BARE_HOST = /^(?:\[[0-9a-f:.]+\]|[^\s/\\?#@:[\]]+)(?::\d{1,5})?$/i

function hostIn(url: string): string {
  return URL.canParse(url) ? new URL(url).hostname : ''
}

function hashOf(value: string): string {
  const hex = createHash('sha256').update(value, 'utf8').digest('hex')
  return hex.slice(0, 32).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

function refuse(what: string, expected: string, got: unknown): never {
  const shown = typeof got === 'number' ? String(got) : describeKind(got)
  throw new LooseleafError('BAD_INDEX', `${what} ${expected}; got ${shown}.`)
}
