import type { Bag, IndexDefinitionData } from '@looseleaf/core'
import {
  directionsOf,
  type ColumnType,
  type Direction,
  type IndexedProperty,
  type Key,
  type KeyValue,
} from '@looseleaf/core/internal'
import { keyColumns } from '../definitions/key-columns.ts'
import { requireKey, type KeyFunction } from '../definitions/key-functions.ts'
import { predicateOf } from '../definitions/predicate.ts'
import { propertyValue } from '../definitions/property-value.ts'
import { toKeyValue, type KeyValueResult } from './key-value.ts'

/** The columns that a property contributes to the key of a row. */
export interface Cells {
  readonly value: readonly KeyValue[]
  /** Like `value`, but with all bytes of a string. Comparisons use it. */
  readonly exact: readonly KeyValue[]
}

/** A property of an index, prepared for rows and queries. */
export interface OpenProperty {
  readonly name: string
  /** The type of the values of bags and queries; the key function may give another one. */
  readonly type: ColumnType
  /** The name of the key function, if there is one. */
  readonly key: string | undefined
  readonly many: boolean
  /** False if the order of the keys says nothing about the values, as for hashes. */
  readonly isOrdered: boolean
  /** Whether the key of a string's beginning is a beginning of the string's key. */
  readonly keepsBeginnings: boolean
  /** The path of the property in the bag. */
  readonly path: string
  /** The columns of a row without a value; undefined if an entity without a value has no row. */
  readonly absent: Cells | undefined
  /** The mark before the column of a value, see `nulls`; empty without `nulls`. */
  readonly present: readonly KeyValue[]
  readonly directions: readonly Direction[]
  read(bag: Bag): unknown
  /** Converts a value to its columns, or tells why the index cannot hold it. */
  toCells(value: unknown): Cells | { readonly misfit: string }
}

/** An index prepared for use: it holds everything that does not depend on a row. */
export interface OpenIndex {
  readonly properties: readonly OpenProperty[]
  readonly types: readonly ColumnType[]
  readonly directions: readonly Direction[]
  /** The column that decides the shard of a row; undefined if a row stands on the shard of its entity. */
  readonly shardColumn: number | undefined
  /** Whether the rows of one entity may stand on several shards. */
  readonly isSpread: boolean
  /** Tells whether a bag has the values of `on`. */
  isOf(bag: Bag): boolean
  /** Tells whether a key is claimed in a unique index: no value of it is absent. */
  isClaimed(key: Key): boolean
}

/** By definition or catalog entry, which stay the same objects until the process reads another catalog. */
const cache = new WeakMap<object, OpenIndex>()

type Definition = Pick<IndexDefinitionData, 'properties' | 'shardOn' | 'on'>

/** Prepares an index; returns the same object for the same definition. Throws `STORE_TOO_NEW` for an unknown key function. */
export function openIndex(definition: Definition): OpenIndex {
  let index = cache.get(definition)
  if (index === undefined) cache.set(definition, (index = prepareIndex(definition)))
  return index
}

function prepareIndex({ properties, shardOn, on }: Definition): OpenIndex {
  const all = properties.map(prepareProperty)
  const columns = keyColumns({ properties })
  const shardProperty = properties.findIndex((property) => property.name === shardOn)
  const columnsBefore = all.slice(0, shardProperty).reduce((sum, { present }) => sum + present.length + 1, 0)
  const marks = marksOf(all)
  return {
    isOf: predicateOf(on),
    isClaimed: (key) => marks.every(({ column, present }) => key[column] === present),
    properties: all,
    types: columns.map(({ type }) => type),
    directions: directionsOf(columns),
    shardColumn:
      shardProperty === -1 ? undefined : columnsBefore + (all[shardProperty] as OpenProperty).present.length,
    isSpread: all[shardProperty]?.many === true,
  }
}

/** Returns the mark columns of a key, each with its value for a present property. */
function marksOf(properties: readonly OpenProperty[]): { column: number; present: KeyValue }[] {
  let nextColumn = 0
  return properties.flatMap(({ present }) => {
    const column = nextColumn
    nextColumn += present.length + 1
    return present.map((value) => ({ column, present: value }))
  })
}

function prepareProperty(property: IndexedProperty): OpenProperty {
  const { name, type, many, nulls, of: path = name, key } = property
  const keyFunction = key === undefined ? undefined : requireKey(key)
  const keyType = keyFunction?.to ?? type
  const presentMark = nulls === 'first' ? 1n : 0n
  const present = nulls === undefined ? [] : [presentMark]
  const absent = [1n - presentMark, EMPTY[keyType]]
  const withMark = (value: KeyValue): readonly KeyValue[] =>
    nulls === undefined ? [value] : [presentMark, value]
  return {
    name,
    type,
    key,
    many,
    isOrdered: key !== 'hash',
    keepsBeginnings: type === 'string' && keepsBeginnings(key),
    path,
    absent: nulls === undefined ? undefined : { value: absent, exact: absent },
    present,
    directions: directionsOf(keyColumns({ properties: [property] })),
    read: (bag) => propertyValue(bag, path),
    toCells(given) {
      // Checks the type first, because a key function must not see a value of another type.
      const plain = toKeyValue(type, given)
      if ('misfit' in plain) return plain
      const result = keyFunction === undefined ? plain : deriveKey(keyFunction, given)
      if ('misfit' in result) return result
      const value = withMark(result.value)
      return { value, exact: result.exact === result.value ? value : withMark(result.exact) }
    },
  }
}

function keepsBeginnings(key: string | undefined): boolean {
  return key === undefined || key === 'lower' || key === 'lowerNfc' || key.startsWith('prefix(')
}

function deriveKey({ name, to, derive, expected }: KeyFunction, given: unknown): KeyValueResult {
  let key: unknown
  try {
    // The caller has checked that the value has the type `from`.
    key = derive(given as never)
  } catch {
    return { misfit: `the function of the key ${name} threw` }
  }
  if (key === undefined && expected !== undefined) return { misfit: `${expected} is expected` }
  const result = toKeyValue(to, key)
  return 'misfit' in result
    ? { misfit: `the function of the key ${name} gave a wrong type: ${result.misfit}` }
    : result
}

/** Placeholders in the column of an absent value. */
const EMPTY: Readonly<Record<ColumnType, KeyValue>> = {
  uuid: Buffer.alloc(16),
  string: Buffer.alloc(0),
  integer: 0n,
  number: 0,
  boolean: 0n,
  time: 0n,
}
