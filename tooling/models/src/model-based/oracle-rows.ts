import { createHash } from 'node:crypto'
import type { Bag, IndexDefinitionData } from '@looseleaf/core'
import type { IndexedProperty } from '@looseleaf/core/internal'

/** A column of a row: its sort key in the index, and its full value, which conditions compare. */
interface Column {
  readonly place: Buffer | bigint | number
  readonly whole: Buffer | bigint | number
  /** Set for an absent value, which sorts before or after all others. */
  readonly nothing?: 'first' | 'last'
  /** True for descending order. */
  readonly isDown?: boolean
}
export type Row = readonly Column[]

export interface Rows {
  readonly rows: readonly Row[]
  readonly hasMisfit: boolean
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/**
 * Returns the rows of an index for a bag, by the promises of the READMEs only. A bag has rows only if it has
 * the values of `on` and every property of the index, except those with `nulls`. A value of another type is a
 * misfit. An array gives one row per distinct element, or per distinct key of one.
 */
export function rowsOf({ properties, on = {} }: IndexDefinitionData, bag: Bag): Rows {
  const isOfAnother = Object.keys(on).some((name) => valueOf(bag, name) !== on[name])
  if (isOfAnother || properties.some((one) => one.nulls === undefined && hasNothing(one, bag))) {
    return { rows: [], hasMisfit: false }
  }
  let hasMisfit = false
  let rows: Row[] = [[]]
  for (const property of properties) {
    const { name, of = name, many, nulls, order } = property
    if (nulls !== undefined && hasNothing(property, bag)) {
      rows = rows.map((row) => [...row, { place: 0, whole: 0, nothing: nulls }])
      continue
    }
    const value = valueOf(bag, of)
    const isList = Array.isArray(value)
    const elements: unknown[] = !many ? [value] : isList ? value.filter((element) => element !== null) : []
    const columns = elements.map((element) => keyed(property, element))
    if ((many && !isList) || columns.includes(undefined)) hasMisfit = true
    const different = new Map<string, Column>()
    for (const one of columns)
      if (one !== undefined) different.set(textOf(one.whole), { ...one, isDown: order === 'desc' })
    rows = rows.flatMap((row) => [...different.values()].map((one) => [...row, one]))
  }
  return { rows, hasMisfit }
}

function hasNothing({ name, of = name, many }: IndexedProperty, bag: Bag): boolean {
  const value = valueOf(bag, of) ?? null
  return value === null || (many && Array.isArray(value) && value.every((element) => element === null))
}

/** Returns the column for a value of this property, stored or searched; undefined for a misfit. */
export function keyed({ type, key }: IndexedProperty, value: unknown): Column | undefined {
  const own = column(type, value)
  if (own === undefined || key === undefined) return own
  switch (key) {
    case 'lower':
      return column('string', String(value).toLowerCase())
    case 'prefix(1)':
      return column('string', [...String(value)][0] ?? '')
    case 'hash':
      return same(createHash('sha256').update(String(value)).digest().subarray(0, 16))
    case 'day':
      return column('time', new Date(`${(value as Date).toISOString().split('T')[0]}T00:00:00Z`))
    default:
      throw new Error(`The oracle does not know the key ${key}.`)
  }
}

/** Returns a property of the bag. Dots lead through objects and arrays. */
export function valueOf(bag: Bag, name: string): unknown {
  if (bag[name] !== undefined || !name.includes('.')) return bag[name]
  let values: unknown[] = [bag]
  let isSpread = false
  for (const step of name.split('.')) {
    if (values.some(Array.isArray)) isSpread = true
    while (values.some(Array.isArray)) values = values.flat()
    values = values.flatMap((value) => {
      const isPlain = value?.constructor === Object
      return isPlain && Object.hasOwn(value, step) ? [(value as Bag)[step]] : []
    })
  }
  if (!isSpread) return values[0]
  // Flattens arrays of the last step and skips absent values.
  const found = values.flat().filter((value) => value !== null && value !== undefined)
  return found.length === 0 ? undefined : found
}

/** Returns a value as a column of this type; undefined for a misfit. */
export function column(type: string, value: unknown): Column | undefined {
  switch (type) {
    case 'string': {
      if (typeof value !== 'string') return undefined
      const whole = Buffer.from(value)
      if (whole.length <= 512) return { place: whole, whole }
      const hash = createHash('sha256').update(whole).digest()
      return { place: Buffer.concat([whole.subarray(0, 512), hash]), whole }
    }
    case 'uuid':
      if (typeof value !== 'string' || !UUID.test(value)) return undefined
      return same(Buffer.from(value.replaceAll('-', '').toLowerCase(), 'hex'))
    case 'integer':
      if (typeof value === 'number') return Number.isSafeInteger(value) ? same(BigInt(value)) : undefined
      return typeof value === 'bigint' && BigInt.asIntN(64, value) === value ? same(value) : undefined
    case 'number':
      return typeof value === 'number' && Number.isFinite(value) ? same(value) : undefined
    case 'boolean':
      return typeof value === 'boolean' ? same(Number(value)) : undefined
    case 'time':
      return value instanceof Date ? same(value.getTime()) : undefined
    default:
      throw new Error(`No column is of type ${type}.`)
  }
}

export function compareValues(a: Buffer | bigint | number, b: Buffer | bigint | number): number {
  if (Buffer.isBuffer(a) && Buffer.isBuffer(b)) return Buffer.compare(a, b)
  return a < b ? -1 : a > b ? 1 : 0
}

/** Compares places in an index: columns first, then the id of the entity. */
export function comparePlaces(a: Place, b: Place): number {
  for (const [i, own] of a.row.entries()) {
    const other = b.row[i]!
    const order = rank(own) - rank(other) || (own.isDown ? -1 : 1) * compareValues(own.place, other.place)
    if (order !== 0) return order
  }
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0
}

function rank({ nothing }: Column): number {
  return nothing === undefined ? 0 : nothing === 'first' ? -1 : 1
}

export interface Place {
  readonly row: Row
  /** Lower case, so that texts sort like their bytes. */
  readonly id: string
}

function same(value: Buffer | bigint | number): Column {
  return { place: value, whole: value }
}

function textOf(value: Buffer | bigint | number): string {
  return Buffer.isBuffer(value) ? value.toString('hex') : String(value)
}
