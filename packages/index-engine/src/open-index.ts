import {
  directionsOf,
  type Bag,
  type ColumnType,
  type Direction,
  type IndexDefinitionData,
  type IndexedProperty,
  type IndexTableSpec,
  type Key,
  type KeyValue,
} from '@looseleaf/core'
import { columnName } from './column-name.ts'
import { requireKey, type KeyFunction } from './key-functions.ts'
import { toKeyValue } from './key-value.ts'
import { predicateOf } from './predicate.ts'
import { propertyValue } from './property-value.ts'

/** What a property gives to the key of a row: the values of its columns. */
export interface Cells {
  readonly value: readonly KeyValue[]
  /** As `value`, but all bytes of a string, however long: what a comparison has to go by. */
  readonly exact: readonly KeyValue[]
}

/** A property of an index, as rows and queries use it. */
export interface OpenProperty {
  readonly name: string
  /** The type of what the bag holds, and of what a query gives. */
  readonly type: ColumnType
  readonly many: boolean
  /** Whether the order of what is kept says something of the order of values. */
  readonly isOrdered: boolean
  /** Whether the key of a string's beginning is a beginning of its key. */
  readonly keepsBeginnings: boolean
  /** Where the bag has it. */
  readonly path: string
  /** The columns of a row in which nothing is there; undefined for a property without which there is no row. */
  readonly absent: Cells | undefined
  /** What stands before the column of a value that is there: nothing, or the mark that it is. */
  readonly present: readonly KeyValue[]
  /** Which way its columns stand. */
  readonly directions: readonly Direction[]
  /** What the bag holds. */
  read(bag: Bag): unknown
  /** The columns of a value, or why it gives none. */
  toCells(value: unknown): Cells | { readonly misfit: string }
}

/** An index ready for use: what would be worked out for every row again is worked out once. */
export interface OpenIndex {
  readonly properties: readonly OpenProperty[]
  /** The types of all columns of the key. */
  readonly types: readonly ColumnType[]
  /** Which way each of them stands. */
  readonly directions: readonly Direction[]
  /** The column that says on which shard a row stands; undefined where it stands with its entity. */
  readonly shardColumn: number | undefined
  /** Whether the rows of one entity may stand on several shards. */
  readonly isSpread: boolean
  /** Whether an entity with this bag is one that the index is of. */
  isOf(bag: Bag): boolean
  /** Whether this key is one that an entity may have to itself: nothing of it is absent. */
  isClaimed(key: Key): boolean
}

/** Definitions and catalog entries stay the same objects for as long as a process knows them. */
const opened = new WeakMap<object, OpenIndex>()

type Definition = Pick<IndexDefinitionData, 'properties' | 'shardOn' | 'on'>

/** The same object for the same definition. Throws `STORE_TOO_NEW` where a key function is not known. */
export function openIndex(definition: Definition): OpenIndex {
  let index = opened.get(definition)
  if (index === undefined) opened.set(definition, (index = open(definition)))
  return index
}

/** The columns of an index's key, with their names as tables have them. */
export function keyColumns({ properties }: Pick<Definition, 'properties'>): IndexTableSpec['columns'] {
  return properties.flatMap((property) => {
    const { name, nulls, order } = property
    const own = { name: columnName(name), type: keyTypeOf(property), ...(order && { order }) }
    return nulls === undefined
      ? [own]
      : [{ name: columnName(`${name}${MARKS[nulls]}`), type: 'boolean' as const }, own]
  })
}

/** How the column is called that says whether a value is there. 0 comes first, whichever way the values stand. */
const MARKS = { first: '_is_there', last: '_is_null' } as const

function open({ properties, shardOn, on }: Definition): OpenIndex {
  const all = properties.map(openProperty)
  const columns = keyColumns({ properties })
  const kept = properties.findIndex((property) => property.name === shardOn)
  const shardColumn = all.slice(0, kept).reduce((sum, { present }) => sum + present.length + 1, 0)
  const marks = marksOf(all)
  return {
    isOf: predicateOf(on),
    isClaimed: (key) => marks.every(({ column, present }) => key[column] === present),
    properties: all,
    types: columns.map(({ type }) => type),
    directions: directionsOf(columns),
    shardColumn: kept === -1 ? undefined : shardColumn + (all[kept] as OpenProperty).present.length,
    isSpread: all[kept]?.many === true,
  }
}

/** Where a key says that something is there, and how. */
function marksOf(properties: readonly OpenProperty[]): { column: number; present: KeyValue }[] {
  let column = 0
  return properties.flatMap(({ present }) => {
    const at = column
    column += present.length + 1
    return present.map((value) => ({ column: at, present: value }))
  })
}

function openProperty(property: IndexedProperty): OpenProperty {
  const { name, type, many, nulls, of: path = name, key } = property
  const keyed = key === undefined ? undefined : requireKey(key)
  const keyType = keyed?.to ?? type
  const isThere = nulls === 'first' ? 1n : 0n
  const present = nulls === undefined ? [] : [isThere]
  const nothing = [1n - isThere, EMPTY[keyType]]
  const withMark = (value: KeyValue): readonly KeyValue[] =>
    nulls === undefined ? [value] : [isThere, value]
  return {
    name,
    type,
    many,
    isOrdered: key !== 'hash',
    keepsBeginnings: type === 'string' && keepsBeginnings(key),
    path,
    absent: nulls === undefined ? undefined : { value: nothing, exact: nothing },
    present,
    directions: directionsOf(keyColumns({ properties: [property] })),
    read: (bag) => propertyValue(bag, path),
    toCells(given) {
      // As the property has it: whatever the function makes of another type would be a surprise.
      const own = toKeyValue(type, given)
      if ('misfit' in own) return own
      const found = keyed === undefined ? own : derived(keyed, given)
      if ('misfit' in found) return found
      const value = withMark(found.value)
      return { value, exact: found.exact === found.value ? value : withMark(found.exact) }
    },
  }
}

function keepsBeginnings(key: string | undefined): boolean {
  return key === undefined || key === 'lower' || key === 'lowerNfc' || key.startsWith('prefix(')
}

function derived({ name, to, derive, expected }: KeyFunction, given: unknown): ReturnType<typeof toKeyValue> {
  let key: unknown
  try {
    // It fits the type that the function is from.
    key = derive(given as never)
  } catch {
    return { misfit: `the key ${name} of it cannot be told: its function threw` }
  }
  if (key === undefined && expected !== undefined) return { misfit: `${expected} is expected` }
  const found = toKeyValue(to, key)
  return 'misfit' in found ? { misfit: `the key ${name} gave something else: ${found.misfit}` } : found
}

/** What stands in the column of a value that is not there. */
const EMPTY: Readonly<Record<ColumnType, KeyValue>> = {
  uuid: Buffer.alloc(16),
  string: Buffer.alloc(0),
  integer: 0n,
  number: 0,
  boolean: 0n,
  time: 0n,
}

function keyTypeOf({ type, key }: IndexedProperty): ColumnType {
  return key === undefined ? type : requireKey(key).to
}
