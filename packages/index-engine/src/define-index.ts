import {
  describeKind,
  LooseleafError,
  STRING_KEY_BYTES,
  type CatalogEntry,
  type ColumnType,
  type IndexDefinitionData,
  type IndexedProperty,
  type IndexPredicate,
  type IndexTableSpec,
} from '@looseleaf/core'
import { clip, isObject, refuse } from './bad-index.ts'
import { isExpiring } from './expiry.ts'
import { keyColumns } from './open-index.ts'
import {
  checkPropertyName,
  parseProperty,
  propertyData,
  propertyFromData,
  propertySpec,
  sameProperty,
} from './parse-property.ts'
import { parsePredicate, samePredicate } from './predicate.ts'
import type { IndexedEntity, IndexProperties, Where } from './property-types.ts'
import { isLikeKind } from './require-definition.ts'
import type { GetAllOptions, IndexReader } from './query-types.ts'

export interface IndexOptions<P extends IndexProperties = IndexProperties> {
  /**
   * One to eight properties and their types, in the order of the key: queries give values from the first one on. Instead of a
   * type there may be `PropertyOptions`.
   * `'string[]'` and the like mark a property that holds an array, with a row per different element; one at the most.
   * Dots lead into objects: `'author.id'` is the `id` of the object `author`, and with `'authors.id': 'uuid[]'` there is a row for
   * the `id` of each element of `authors`. A property of the bag whose own name is that comes first. Without [] an array on the
   * way is a misfit where its elements have what is looked for.
   */
  readonly properties: P
  /** The property that says on which shard a row stands, or 'id': on its entity's shard. */
  readonly shardOn: NoInfer<keyof P & string> | 'id'
  /** What becomes of a write with a value that the index cannot hold: 'refuse' (default), or 'skip': it gets no row. */
  readonly onMisfit?: 'refuse' | 'skip' | undefined
  /**
   * No two entities may have one key, on whatever shards they are: a write that would make two throws `DUPLICATE_KEY`, with the
   * holder's id. `shardOn` has to be a property then. What is absent, where the index has `nulls`, is no key. Default: false.
   */
  readonly unique?: boolean | undefined
  /**
   * Up to 16 properties that rows hold beside their key, dots leading into objects as above: `store.list` draws a list from
   * rows alone. Rows of such an index are written with every write of their entity, so take small properties, and few
   * such indexes. What takes more than 4,096 bytes as the codec writes it, indexed properties included, is read from its entity.
   * Their order says nothing.
   */
  readonly include?: readonly string[] | undefined
  /**
   * A partial index, of entities that have exactly these values: `{ kind: 'issue' }`. 1 to 4 properties, dots leading into objects,
   * with strings of up to 256 characters, numbers or booleans; or with a list of 2 to 16 of them, any of which will do. Other entities have no rows, their misfits are not refused, and
   * `unique` is among those that have the values. Another `on` is another index.
   */
  readonly on?: IndexPredicate | undefined
  /**
   * The path of a time: from then on queries of this index leave an entity out; without a Date there it stays. An index of
   * this time alone, sharded on 'id', also has cleaners delete the entity, a minute later at the soonest. Another index for deletion is
   * another generation; on any other index this is said by the program alone, and nothing is stored.
   */
  readonly expires?: string | undefined
}

/** An index as a program names it: plain data, the types of its properties, and the call that reads by it. */
export interface IndexDefinition<P extends IndexProperties = IndexProperties> extends IndexDefinitionData {
  /** The properties as they were given to `defineIndex`. */
  readonly types: P
  /**
   * Every entity that matches, in key order. Rejects as `query` of the store does, and with `DEADLINE` when it takes longer than
   * the store's `queryTimeMs`.
   */
  getAll(store: IndexReader, where: Where<P>, options?: GetAllOptions): Promise<IndexedEntity<P>[]>
}

const OPTIONS: readonly string[] = [
  'properties',
  'shardOn',
  'onMisfit',
  'unique',
  'include',
  'on',
  'expires',
] satisfies (keyof IndexOptions)[]
const NAME = /^[a-z][a-z0-9_]{0,39}$/
const LIKE_A_GENERATION = /_(?:[2-9]|[1-9][0-9]+)$/
const ARRAY_INDEX = /^(?:0|[1-9][0-9]*)$/
const MAX_PROPERTIES = 8
const MAX_INCLUDED = 16

/** Bytes that a value takes in a key of MySQL, at the most. */
const KEY_BYTES: Readonly<Record<ColumnType, number>> = {
  uuid: 16,
  string: STRING_KEY_BYTES,
  integer: 8,
  number: 8,
  boolean: 8,
  time: 8,
}
const ENTITY_ID_KEY_BYTES = 16
const MAX_KEY_BYTES = 3072

/**
 * Defines an index; nothing is sent or created. The name has lower case letters, digits and `_`, at most 40 of them.
 * Throws `BAD_INDEX` with what was expected when the definition is not valid, also when it comes without types.
 */
export function defineIndex<const P extends IndexProperties>(
  name: string,
  options: IndexOptions<P>,
): IndexDefinition<P> {
  checkName(name)
  if (!isObject(options)) {
    refuse(name, `needs options such as { properties: { user_id: 'uuid' }, shardOn: 'user_id' }`, options)
  }
  for (const option of Object.keys(options)) {
    if (OPTIONS.includes(option)) continue
    throw new LooseleafError(
      'BAD_INDEX',
      `Index ${name} has no option "${clip(option)}"; there are ${OPTIONS.join(', ')}.`,
    )
  }
  if (!isObject(options.properties)) {
    refuse(name, `needs properties such as { user_id: 'uuid' }`, options.properties)
  }
  const names = Object.keys(options.properties)
  const properties = names.map((property) => parseProperty(name, property, options.properties[property]))
  if (properties.length > 1 && names.some((property) => ARRAY_INDEX.test(property))) {
    // Objects put such names first, whatever order they were written in, and the order is what an index is about.
    throw new LooseleafError(
      'BAD_INDEX',
      `Index ${name} has several properties, so none of them may be named by a whole number: objects do not keep the order of those.`,
    )
  }
  const { onMisfit = 'refuse' } = options
  return build<P>(name, properties, { ...options, onMisfit })
}

/** The definition of plain data, such as a catalog's. Throws `BAD_INDEX`. */
export function definitionFromData(data: IndexDefinitionData): IndexDefinition {
  if (isLikeKind(data)) {
    throw new LooseleafError(
      'BAD_INDEX',
      'A kind is no index; indexesOf(…) gives the definitions of all indexes of the kinds that it is given.',
    )
  }
  if (!isObject(data)) refuse('(without a name)', 'has to be an object with a name and properties', data)
  checkName(data.name)
  if (!Array.isArray(data.properties)) refuse(data.name, 'needs a list of properties', data.properties)
  const properties = data.properties.map((property: unknown) => propertyFromData(data.name, property))
  return build(data.name, properties, data)
}

/** The plain data of a definition or a catalog entry, and nothing else: what a catalog keeps. */
export function definitionData(definition: IndexDefinitionData): IndexDefinitionData {
  const { name, shardOn, onMisfit, unique, include, on, expires } = definition
  const properties = definition.properties.map(propertyData)
  return {
    name,
    properties,
    shardOn,
    onMisfit,
    ...(unique && { unique }),
    ...(include && { include }),
    ...(on && { on }),
    ...(expires !== undefined && { expires }),
  }
}

/**
 * True when both give the same rows, on the same shards: then they can share a table, whatever `onMisfit` says, and in whatever
 * order properties are included. Whether they are unique makes no difference to the rows.
 */
export function sameRows(a: IndexDefinitionData, b: IndexDefinitionData): boolean {
  return sameKeys(a, b) && sameNames(a.include, b.include)
}

/** Each list has a name once. */
function sameNames(a: readonly string[] = [], b: readonly string[] = []): boolean {
  return a.length === b.length && a.every((name) => b.includes(name))
}

/** True when both have the same keys of the same entities, in the same columns and on the same shards, whatever their rows include. */
function sameKeys(a: IndexDefinitionData, b: IndexDefinitionData): boolean {
  return (
    a.name === b.name &&
    a.shardOn === b.shardOn &&
    samePredicate(a.on, b.on) &&
    isExpiring(a) === isExpiring(b) &&
    a.properties.length === b.properties.length &&
    a.properties.every((property, i) => sameProperty(property, b.properties[i]))
  )
}

/**
 * Whether a catalog entry is that of the claims for the keys of this definition, or of this entry of rows. All generations of a
 * name that have the same keys share it, whatever they include, and whatever they do with misfits, which have no claims. With
 * another type, key, order or `nulls` of a property, kept by another one, or of other entities, keys are others, and have claims
 * of their own.
 */
export function isClaimsOf(entry: IndexDefinitionData, definition: IndexDefinitionData): boolean {
  return entry.unique === true && sameKeys(entry, definition)
}

/** Whether a catalog entry is one that this definition may have: of its rows, or of their claims. */
export function isEntryOf(entry: IndexDefinitionData, definition: IndexDefinitionData): boolean {
  return entry.unique ? isClaimsOf(entry, definition) : sameRows(entry, definition)
}

/** True for two catalog entries, as `entriesOf` has them, when one of them is enough. */
export function sameEntry(a: IndexDefinitionData, b: IndexDefinitionData): boolean {
  return a.unique === b.unique && isEntryOf(a, b)
}

/** What catalogs have for a definition: an entry for its rows and, where it is unique, one for its claims. */
export function entriesOf(definition: IndexDefinitionData): readonly IndexDefinitionData[] {
  const { unique, expires, ...keys } = definitionData(definition)
  const rows = { ...keys, ...(isExpiring(definition) && { expires }) }
  if (!unique) return [rows]
  const { include: _, ...claims } = keys
  return [rows, { ...claims, unique }]
}

/**
 * The table of a catalog entry: `index_<name>` for its first generation, `index_<name>_<generation>` after that; of claims
 * `claims_<name>` and so on.
 */
export function tableName(
  { name, unique }: Pick<IndexDefinitionData, 'name' | 'unique'>,
  generation: number,
): string {
  const first = `${unique ? 'claims' : 'index'}_${name}`
  return generation === 1 ? first : `${first}_${generation}`
}

/**
 * Entries for these definitions, each of one generation more than the last under its name. Dropped ones count, so that
 * no table's name is used twice.
 */
export function nextGenerations(
  indexes: readonly CatalogEntry[],
  definitions: readonly IndexDefinitionData[],
): readonly CatalogEntry[] {
  const entries: CatalogEntry[] = []
  for (const definition of definitions) {
    const { name, unique } = definition
    const generations = [...indexes, ...entries]
      .filter((entry) => entry.name === name && entry.unique === unique)
      .map((entry) => entry.generation)
    const generation = Math.max(0, ...generations) + 1
    const table = tableName({ name, unique }, generation)
    entries.push({ ...definitionData(definition), generation, table, state: 'dropped' })
  }
  return entries
}

/** Asked for with every index row: entries stay the same objects for as long as a process's catalog does. */
const specs = new WeakMap<object, IndexTableSpec>()

/** The table of a catalog entry as drivers take it; the same object for the same entry. */
export function tableSpec(
  entry: Pick<CatalogEntry, 'table' | 'properties' | 'unique' | 'include'>,
): IndexTableSpec {
  let spec = specs.get(entry)
  if (spec === undefined) {
    const { table, unique, include } = entry
    spec = {
      table,
      columns: keyColumns(entry),
      ...(unique && { unique }),
      ...(include && { covering: true }),
    }
    specs.set(entry, spec)
  }
  return spec
}

/** The same of what a program says and of plain data, whose properties were read. */
function build<P extends IndexProperties>(
  name: string,
  properties: readonly IndexedProperty[],
  { shardOn, onMisfit, unique, include, on, expires }: Omit<IndexOptions, 'properties'>,
): IndexDefinition<P> {
  const predicate = on === undefined ? undefined : parsePredicate(name, on)
  checkProperties(name, properties, predicate)
  if (shardOn !== 'id' && !properties.some((property) => property.name === shardOn)) {
    const choices = [...properties.map((property) => `'${property.name}'`), `'id'`].join(', ')
    refuse(name, `needs shardOn to be one of ${choices}`, shardOn)
  }
  if (unique !== undefined && typeof unique !== 'boolean')
    refuse(name, 'needs unique to be true or false', unique)
  if (unique && shardOn === 'id') {
    refuse(
      name,
      'is unique, so shardOn has to be a property: all entities with one key need one shard',
      shardOn,
    )
  }
  if (onMisfit !== 'refuse' && onMisfit !== 'skip') {
    refuse(name, `needs onMisfit to be 'refuse' or 'skip'`, onMisfit)
  }
  if (expires !== undefined) checkPropertyName(name, expires)
  const entries = properties.map((property) => [property.name, propertySpec(property)] as const)
  const definition: IndexDefinition<P> = {
    name,
    properties: Object.freeze(properties.map((property) => Object.freeze({ ...property }))),
    shardOn,
    onMisfit,
    ...(unique && { unique }),
    ...(include !== undefined && { include: parseInclude(name, include) }),
    ...(predicate && { on: predicate }),
    ...(expires !== undefined && { expires }),
    // The names and types of P are these; `Object.fromEntries` cannot say so.
    types: Object.freeze(Object.fromEntries(entries)) as unknown as P,
    getAll: (store, where, options) => store.getAll(definition, where, options),
  }
  return Object.freeze(definition)
}

function parseInclude(index: string, include: unknown): readonly string[] {
  if (!Array.isArray(include)) refuse(index, `needs include to be a list of properties`, include)
  if (include.length === 0 || include.length > MAX_INCLUDED) {
    throw new LooseleafError(
      'BAD_INDEX',
      `Index ${index} has to include 1 to ${MAX_INCLUDED} properties; got ${include.length}.`,
    )
  }
  const names = include.map((name: unknown) => {
    checkPropertyName(index, name)
    return name
  })
  if (new Set(names).size < names.length) {
    throw new LooseleafError('BAD_INDEX', `Index ${index} includes a property twice.`)
  }
  return Object.freeze(names)
}

function checkName(name: unknown): asserts name is string {
  if (typeof name !== 'string' || !NAME.test(name)) {
    const what = typeof name === 'string' ? `"${clip(name)}"` : describeKind(name)
    throw new LooseleafError(
      'BAD_INDEX',
      `The name of an index begins with a letter and has lower case letters, digits and "_", 40 characters at the most; got ${what}.`,
    )
  }
  if (name.startsWith('looseleaf') || name === 'entities') {
    throw new LooseleafError(
      'BAD_INDEX',
      `Index ${name} needs another name: this one is reserved for the store.`,
    )
  }
  if (LIKE_A_GENERATION.test(name)) {
    throw new LooseleafError(
      'BAD_INDEX',
      `Index ${name} needs another name: one that ends with "_" and a number reads like a later generation of another index.`,
    )
  }
}

function checkProperties(
  name: string,
  properties: readonly IndexedProperty[],
  on: IndexPredicate | undefined,
): void {
  const refuseWith = (reason: string): never => {
    throw new LooseleafError('BAD_INDEX', `Index ${name} ${reason}.`)
  }
  if (properties.length === 0 || properties.length > MAX_PROPERTIES) {
    refuseWith(`has to have 1 to ${MAX_PROPERTIES} properties; got ${properties.length}`)
  }
  if (new Set(properties.map((property) => property.name)).size < properties.length) {
    refuseWith('names a property twice')
  }
  const columns = keyColumns({ properties })
  if (new Set(columns.map((column) => column.name)).size < columns.length) {
    refuseWith('has two properties whose column would have the same name; rename one of them')
  }
  if (on === undefined && properties.every(({ nulls }) => nulls !== undefined)) {
    refuseWith(
      'has nulls for all of its properties, so every entity of the store would have a row; one has to be there, or on has to say which entities are meant',
    )
  }
  const arrays = properties.filter((property) => property.many)
  if (arrays.length > 1) {
    refuseWith(
      `has ${arrays.length} properties with []; one at the most, because each pair of elements would be a row`,
    )
  }
  const bytes = columns.reduce((sum, { type }) => sum + KEY_BYTES[type], ENTITY_ID_KEY_BYTES)
  if (bytes > MAX_KEY_BYTES) {
    const strings = columns.filter(({ type }) => type === 'string').length
    refuseWith(
      `has a key of up to ${bytes} bytes with its ${strings} strings of up to ${STRING_KEY_BYTES} bytes each; MySQL holds ${MAX_KEY_BYTES}. Five strings fit`,
    )
  }
}
