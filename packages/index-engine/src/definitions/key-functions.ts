import { createHash } from 'node:crypto'
import { LooseleafError } from '@looseleaf/core'
import { describeArgument, type ColumnType } from '@looseleaf/core/internal'
import { clip, isObject } from './bad-index.ts'
import type { ValueOf } from './property-types.ts'

/** A function whose result an index keeps in place of the value of a property. */
export interface KeyFunction {
  /** The name in definitions and catalogs: `lower`, `prefix(3)`, or `slug@1` for a function of the program. */
  readonly name: string
  /** The type of the property. */
  readonly from: ColumnType
  /** The type of the result. */
  readonly to: ColumnType
  /**
   * Returns the key of a value. The index applies it to the values of properties and of queries, so a query finds every value with the
   * same key. The result for a value must be the same on every machine, for ever.
   */
  readonly derive: (value: never) => unknown
  /** Describes the values that have a key, for messages. Only for a function that has no key for some values of its type. */
  readonly expected?: string | undefined
}

/** The key functions that every store has. The number in `prefix(n)` counts characters, up to 999. */
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
  /** At most 40 lower case letters, digits and `_`; the first is a letter. */
  readonly name: string
  /** From 1 on. Raise it if the function gives another key for any value: an index with another version is another generation. */
  readonly version: number
  readonly from: F
  /** The type of the result. Default: `from`. */
  readonly to?: T | undefined
  /** Returns the key of a value; null and undefined are misfits. Declared as a method, so that `(value: number) => …` is accepted for integers, which may be `bigint`. */
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
  // Composes before the change of case as well, because the case of a letter may depend on the marks after it.
  text('lowerNfc', (value) => value.normalize('NFC').toLowerCase().normalize('NFC')),
  { ...text('host', hostOf), expected: 'a URL with a host, or a host name' },
  { name: 'hash', from: 'string', to: 'uuid', derive: hashOf },
  bucket('hour', (time) => Math.floor(time.getTime() / HOUR_MS) * HOUR_MS),
  bucket('day', (time) => Math.floor(time.getTime() / DAY_MS) * DAY_MS),
  bucket('month', (time) => new Date(time).setUTCHours(0, 0, 0, 0) - (time.getUTCDate() - 1) * DAY_MS),
]
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** All key functions of this process by name, including those of `defineKey`. Global, because catalogs refer to key functions by name. */
const known = new Map(builtIn.map((each) => [each.name, each]))

/** Returns the key function of this name; undefined if this process does not have it. */
export function keyFunction(name: string): KeyFunction | undefined {
  const found = known.get(name)
  if (found !== undefined) return found
  const length = Number(PREFIX.exec(name)?.[1] ?? 0)
  if (length === 0) return undefined
  const prefix = text(name, (value) => firstCharacters(value, length))
  known.set(name, prefix)
  return prefix
}

/** Returns the key function of this name. Throws `STORE_TOO_NEW` if this process does not have it. */
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
 * Defines a key function of the program, for the `key` of an indexed property. The function is known in the whole process. Every
 * process that opens a store with such an index has to define it, the cleaner's too; otherwise `STORE_TOO_NEW` is thrown there. A value
 * for which `derive` throws, or gives null or undefined, is a misfit. Ranges compare keys. If `derive` gives one key to neighbouring times or
 * numbers, a `lt` or `gt` between them is refused with `BAD_QUERY`.
 *
 * Throws `BAD_INDEX` for invalid options, and for a second definition with the same name and version but another source text. Values
 * from outside the function do not count as its text, so put them into the name.
 */
export function defineKey<const F extends ColumnType, const T extends ColumnType = F>(
  options: KeyOptions<F, T>,
): KeyFunction {
  if (!isObject(options))
    refuse('A key', "needs options such as { name: 'slug', version: 1, from: 'string', derive }", options)
  const { name, version, from, to = from, derive } = options
  if (typeof name !== 'string' || !NAME.test(name)) {
    refuse(
      'The name of a key',
      'begins with a letter and has lower case letters, digits and "_", 40 characters at the most',
      name,
    )
  }
  if (!Number.isSafeInteger(version) || version < 1) {
    refuse(`The version of the key ${name}`, 'has to be a whole number from 1 on', version)
  }
  for (const type of [from, to]) {
    if (!COLUMN_TYPES.includes(type))
      refuse(`The key ${name}`, `needs from and to to be one of ${COLUMN_TYPES.join(', ')}`, type)
  }
  for (const option of Object.keys(options)) {
    if (OPTIONS.includes(option)) continue
    throw new LooseleafError(
      'BAD_INDEX',
      `The key ${name} has no option "${clip(option)}"; there are ${OPTIONS.join(', ')}.`,
    )
  }
  if (typeof derive !== 'function') refuse(`The key ${name}`, 'needs a function as derive', derive)
  const key: KeyFunction = Object.freeze({ name: `${name}@${version}`, from, to, derive })
  const earlier = known.get(key.name)
  // A tool that reloads changed modules may load a module twice.
  if (earlier !== undefined && !isSame(earlier, key)) {
    throw new LooseleafError(
      'BAD_INDEX',
      `The key ${key.name} is defined twice, differently. A definition that gives other keys needs another version.`,
    )
  }
  known.set(key.name, key)
  return key
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

/** Returns the host name of a URL, or of a bare host with or without a port; undefined for any other text. */
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

function refuse(subject: string, expected: string, got: unknown): never {
  throw new LooseleafError('BAD_INDEX', `${subject} ${expected}; got ${describeArgument(got)}.`)
}
