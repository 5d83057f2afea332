import { LooseleafError, type IndexDefinitionData } from '@looseleaf/core'
import {
  describeKind,
  STRING_KEY_BYTES,
  type ColumnType,
  type IndexedProperty,
  type IndexPredicate,
} from '@looseleaf/core/internal'
import { clip, isObject, refuse } from './bad-index.ts'
import { keyColumns } from './key-columns.ts'
import {
  checkPropertyName,
  parseProperty,
  propertyData,
  propertyFromData,
  propertySpec,
} from './parse-property.ts'
import { parsePredicate } from './predicate.ts'
import type { IndexedEntity, IndexProperties, Where } from './property-types.ts'
import { isLikeKind } from './require-definition.ts'
import type { GetAllOptions, IndexReader } from './index-reader.ts'

export interface IndexOptions<P extends IndexProperties = IndexProperties> {
  /**
   * One to eight properties with a type or `PropertyOptions`, in the order of the key. A query gives values from the first property
   * on.
   *
   * `'string[]'` and the like declare a property that holds an array; the entity has a row per distinct element. At most one property
   * may be an array.
   *
   * Dots lead into objects: `'author.id'` is the `id` of the object `author`. With `'authors.id': 'uuid[]'` the entity has a row for
   * the `id` of each element of `authors`. A property of the bag with the whole name, dots included, takes precedence. Without `[]`,
   * a path through an array is a misfit if an element has a value there.
   */
  readonly properties: P
  /** The property that decides on which shard a row stands, or 'id': a row stands on the shard of its entity. */
  readonly shardOn: NoInfer<keyof P & string> | 'id'
  /** Handles a value that the index cannot hold. `refuse`: the write fails. `skip`: the value gets no row. Default: `refuse`. */
  readonly onMisfit?: 'refuse' | 'skip' | undefined
  /**
   * If true, no two entities have the same key, on any shard. A write that would break this throws `DUPLICATE_KEY` with the id of the
   * holder. Requires a property as `shardOn`. A key with an absent value, see `nulls`, may repeat. Default: false.
   */
  readonly unique?: boolean | undefined
  /**
   * Tells that the ids of its entities are made near the value of `shardOn`, as by `newId({ near })` or by a kind with `near`. Its rows are
   * then on the shards of their entities, and in an exact index they can be deleted at once. Leave it out for other indexes: one far row
   * keeps the lost rows of its entity in all exact indexes for some seconds. Default: false, or true for 'id' as `shardOn`.
   */
  readonly near?: boolean | undefined
  /**
   * Up to 16 properties that rows hold beside their key, so that `store.list` reads rows alone. Dots lead into objects. The order makes
   * no difference. Every write of an entity rewrites its rows, so include small properties, and keep such indexes few. If the included
   * and indexed properties of an entity take more than 4,096 bytes as the codec encodes them, `store.list` reads the entity.
   */
  readonly include?: readonly string[] | undefined
  /**
   * Makes the index partial: only entities with exactly these values have rows, as in `{ kind: 'issue' }`.
   *
   * 1 to 4 properties; dots lead into objects. A value is a string of up to 256 characters, a number, a boolean, or a list of 2 to 16 of them, of which the
   * entity needs one. The misfits of other entities are ignored, and `unique` does not apply to them. Another `on` makes another
   * generation.
   */
  readonly on?: IndexPredicate | undefined
  /**
   * The path of a Date from which queries of this index leave the entity out. An entity without a Date there never expires. If the index
   * has this time as its only property, and 'id' as `shardOn`, cleaners also delete the entity, at least a minute later.
   *
   * For such an index, adding or changing `expires` makes another generation. For any other index, `expires` is not stored, and
   * applies in this program only.
   */
  readonly expires?: string | undefined
}

/** An index as a program uses it: its plain data, the types of its properties, and a call that reads by it. */
export interface IndexDefinition<P extends IndexProperties = IndexProperties> extends IndexDefinitionData {
  /** The properties as given to `defineIndex`. */
  readonly types: P
  /**
   * Returns every entity that matches, in key order. Rejects as `query` of the store does, and with `DEADLINE` if it takes longer than
   * the store's `queryTimeMs`.
   */
  getAll(store: IndexReader, where: Where<P>, options?: GetAllOptions): Promise<IndexedEntity<P>[]>
}

const OPTIONS: readonly string[] = [
  'properties',
  'shardOn',
  'onMisfit',
  'unique',
  'near',
  'include',
  'on',
  'expires',
] satisfies (keyof IndexOptions)[]
const NAME = /^[a-z][a-z0-9_]{0,39}$/
const LOOKS_LIKE_GENERATION = /_(?:[2-9]|[1-9][0-9]+)$/
const ARRAY_INDEX = /^(?:0|[1-9][0-9]*)$/
const MAX_PROPERTIES = 8
const MAX_INCLUDED = 16

/** Largest number of bytes that a value takes in a key of MySQL. */
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
 * Defines an index; sends and creates nothing. The name has at most 40 lower case letters, digits and `_`. Throws `BAD_INDEX` for an
 * invalid definition, also in programs without types.
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
    // Objects put such names first, whatever order they were written in, and an index depends on the order of its properties.
    throw new LooseleafError(
      'BAD_INDEX',
      `Index ${name} has several properties, so none of them may be named by a whole number: objects do not keep the order of such names.`,
    )
  }
  const { onMisfit = 'refuse' } = options
  return build<P>(name, properties, { ...options, onMisfit })
}

/** Makes a definition of plain data, such as a catalog's. Throws `BAD_INDEX`. */
export function definitionFromData(data: IndexDefinitionData): IndexDefinition {
  if (isLikeKind(data)) {
    throw new LooseleafError(
      'BAD_INDEX',
      'A kind is no index. Use indexesOf(…), which returns the definitions of all indexes of some kinds.',
    )
  }
  if (!isObject(data)) refuse('(without a name)', 'has to be an object with a name and properties', data)
  checkName(data.name)
  if (!Array.isArray(data.properties)) refuse(data.name, 'needs a list of properties', data.properties)
  const properties = data.properties.map((property: unknown) => propertyFromData(data.name, property))
  return build(data.name, properties, data)
}

/** Picks the plain data of a definition or a catalog entry, as catalogs store it. */
export function definitionData(definition: IndexDefinitionData): IndexDefinitionData {
  const { name, shardOn, onMisfit, unique, near, include, on, expires } = definition
  const properties = definition.properties.map(propertyData)
  return {
    name,
    properties,
    shardOn,
    onMisfit,
    ...(unique && { unique }),
    ...(near && { near }),
    ...(include && { include }),
    ...(on && { on }),
    ...(expires !== undefined && { expires }),
  }
}

/** Checks and freezes a definition whose properties are parsed already. */
function build<P extends IndexProperties>(
  name: string,
  properties: readonly IndexedProperty[],
  { shardOn, onMisfit, unique, near, include, on, expires }: Omit<IndexOptions, 'properties'>,
): IndexDefinition<P> {
  const predicate = on === undefined ? undefined : parsePredicate(name, on)
  checkProperties(name, properties, predicate)
  if (shardOn !== 'id' && !properties.some((property) => property.name === shardOn)) {
    const choices = [...properties.map((property) => `'${property.name}'`), `'id'`].join(', ')
    refuse(name, `needs shardOn to be one of ${choices}`, shardOn)
  }
  if (unique !== undefined && typeof unique !== 'boolean')
    refuse(name, 'needs unique to be true or false', unique)
  if (near !== undefined && typeof near !== 'boolean') refuse(name, 'needs near to be true or false', near)
  if (unique && shardOn === 'id') {
    refuse(name, 'is unique, so shardOn has to be a property: equal keys have to meet on one shard', shardOn)
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
    ...(near && { near }),
    ...(include !== undefined && { include: parseInclude(name, include) }),
    ...(predicate && { on: predicate }),
    ...(expires !== undefined && { expires }),
    // The entries have the names and types of P; `Object.fromEntries` loses them.
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
  const included = include.map((name: unknown) => {
    checkPropertyName(index, name)
    return name
  })
  if (new Set(included).size < included.length) {
    throw new LooseleafError('BAD_INDEX', `Index ${index} includes a property twice.`)
  }
  return Object.freeze(included)
}

function checkName(name: unknown): asserts name is string {
  if (typeof name !== 'string' || !NAME.test(name)) {
    const got = typeof name === 'string' ? `"${clip(name)}"` : describeKind(name)
    throw new LooseleafError(
      'BAD_INDEX',
      `The name of an index begins with a letter and has lower case letters, digits and "_", 40 characters at the most; got ${got}.`,
    )
  }
  if (name.startsWith('looseleaf') || name === 'entities') {
    throw new LooseleafError(
      'BAD_INDEX',
      `Index ${name} needs another name: this one is reserved for the store.`,
    )
  }
  if (LOOKS_LIKE_GENERATION.test(name)) {
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
      'has nulls for all of its properties, so every entity of the store would have a row; leave nulls out for one property, or select entities with `on`',
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
