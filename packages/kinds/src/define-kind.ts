import { badArgument, hasMethods, isRecord, LooseleafError } from '@looseleaf/core'
import {
  defineIndex,
  type IndexDefinition,
  type IndexOptions,
  type IndexProperties,
} from '@looseleaf/index-engine'
import type { DataStore } from '@looseleaf/store'
import { absenceBySchema } from './absence-by-schema.ts'
import type { CheckedExpiry, TimeOf } from './checked-expiry.ts'
import type { CheckedIndex } from './checked-index.ts'
import type { Changes, Collection } from './collection.ts'
import { createEntities, type UntypedEntities } from './entities.ts'
import { addedInclude, expiryIndex, ofKind, withTime } from './expiry-index.ts'
import { createFillWarning } from './fill-warning.ts'
import { createIndexReads } from './index-reads.ts'
import type { KeyOf, PathOf } from './property-paths.ts'
import type { Fitting, Schema, SchemaInput, SchemaOutput } from './schema.ts'
import { createShape, type Item, type Shape, type Upgrade } from './shape.ts'

/** An index of a kind: it has rows for the entities of this kind alone. */
export interface KindIndex<T> extends Omit<
  IndexOptions,
  'properties' | 'shardOn' | 'include' | 'on' | 'expires'
> {
  /** One to eight properties in the order of the key, each with its type, in an object of its own. */
  readonly by: readonly [KeyOf<T>, ...KeyOf<T>[]]
  /** The property that says on which shard a row stands, or 'id': on its entity's shard. Default: the first. */
  readonly shardOn?: string | undefined
  readonly include?: readonly (PathOf<T> | (string & {}))[] | undefined
}

/** A mistake in an index does not compile, and the error is a sentence. `KindIndex` is there for what an editor suggests. */
type CheckedIndexes<T, Indexes> = {
  readonly [Name in keyof Indexes]: CheckedIndex<T, Indexes[Name]> & KindIndex<T>
}

export interface KindOptions<S extends Schema, Indexes, Expires = string> {
  /**
   * Up to 15 names that the kind had before: entities stored under them are of this kind, and get its name at their next write. Never take
   * one away: the indexes of the kind would be others, which have to be filled anew. See "Renaming a kind" in the README.
   */
  readonly formerly?: readonly string[] | undefined
  /** A schema of any library that speaks Standard Schema, synchronous; or `typed<T>()`, which checks nothing. */
  readonly schema: Fitting<S> & S
  /** By the names under which a collection has them. Each is an index `<kind>_<name>` of the store, in lower case with "_". */
  readonly indexes?: (Indexes & CheckedIndexes<SchemaOutput<S>, Indexes>) | undefined
  /**
   * The path of a time: from then on an entity of the kind is not there for its reads and writes, by the clock of the process, and a
   * cleaner deletes it a minute later at the soonest. An entity without a time there stays. The kind has one index more, `<kind>_expires`.
   */
  readonly expires?: (Expires & CheckedExpiry<SchemaOutput<S>, Expires>) | undefined
  /**
   * What brings older shapes up, each from one shape to the next: an entity that has seen the first two gets the others when it is
   * read, and is stored so when it is written next. Indexes see what is stored; `upgradeKinds` rewrites all that is old. Never take
   * one away, and add new ones at the end.
   */
  readonly upgrades?: readonly Upgrade[] | undefined
  /** Check with the schema what is read, too, and give what that makes of it. Default: false: what is stored was checked. */
  readonly checkReads?: boolean | undefined
}

/** A kind, whatever its entities are. */
export interface AnyKind {
  readonly name: string
  /** Of all its indexes, for `indexes` of `DataStore.open`. */
  readonly indexes: readonly IndexDefinition[]
  readonly shape: Shape
}

/** A kind of entities: what is known of it without a store. */
export interface Kind<S extends Schema, Indexes> extends AnyKind {
  readonly schema: S
  /** The collection of its entities in a store. */
  in(store: DataStore): Collection<S, Indexes>
}

/** What `KindOptions` comes to without its types. */
interface PlainOptions {
  readonly formerly?: readonly string[]
  readonly schema: Schema
  readonly indexes?: Readonly<Record<string, PlainIndex>>
  readonly expires?: string
  readonly upgrades?: readonly Upgrade[]
  readonly checkReads?: boolean
}

type PlainIndex = Omit<KindIndex<object>, 'by' | 'include'> & {
  readonly by: unknown
  readonly include?: readonly string[] | undefined
}

/** An entity of a kind as it is read: `ItemOf<typeof Issue>`. */
export type ItemOf<K extends { readonly schema: Schema }> = Item<SchemaOutput<K['schema']>>

/** What an update may change of an entity: `ChangesOf<typeof Issue>`. */
export type ChangesOf<K extends { readonly schema: Schema }> = Changes<SchemaOutput<K['schema']>>

/** What a kind takes for a new entity: `InputOf<typeof Issue>`. */
export type InputOf<K extends { readonly schema: Schema }> = SchemaInput<K['schema']>

const OPTIONS: readonly string[] = [
  'schema',
  'indexes',
  'expires',
  'upgrades',
  'checkReads',
  'formerly',
] satisfies (keyof PlainOptions)[]

/** What a collection has beside its indexes. */
const TAKEN: Readonly<Record<keyof UntypedEntities | 'store', true>> = {
  get: true,
  exists: true,
  getMany: true,
  insert: true,
  put: true,
  update: true,
  upsert: true,
  delete: true,
  insertMany: true,
  putMany: true,
  updateMany: true,
  deleteMany: true,
  changes: true,
  itemOf: true,
  store: true,
}
const NAME = /^[a-z][a-z0-9_]{0,29}$/
/** With the name of the kind these are the 16 values that `on` of an index takes. */
const MAX_FORMERLY = 15
const INDEX_NAME = /^[a-z][A-Za-z0-9]*$/

/**
 * Defines a kind; nothing is sent or created. The name has lower case letters, digits and `_`, and is stored with every entity.
 * Throws `BAD_OPTION` and `BAD_INDEX`.
 */
export function defineKind<
  S extends Schema,
  const Indexes extends { readonly [name: string]: KindIndex<SchemaOutput<S>> } = {},
  const Expires extends TimeOf<SchemaOutput<S>> | (string & {}) = string,
>(name: string, options: KindOptions<S, Indexes, Expires>): Kind<S, Indexes> {
  if (typeof name !== 'string' || !NAME.test(name)) {
    throw badArgument(
      'defineKind',
      'a name of up to 30 lower case letters, digits and "_", a letter first',
      name,
    )
  }
  const {
    formerly = [],
    schema,
    upgrades = [],
    checkReads = false,
    indexes: given = {},
    expires,
  } = checked(name, options)
  const indexes = new Map<string, IndexDefinition>()
  const onFill = createFillWarning(name, () => defined)
  const shape = createShape({ name, formerly, expires, schema, upgrades, checkReads, onFill })
  const mayBeAbsent = absenceBySchema(schema)
  for (const [key, index] of Object.entries(given)) {
    const definition = kindIndex(shape, key, index)
    requireNulls(`Index ${key} of ${name}`, definition, index, mayBeAbsent)
    indexes.set(key, definition)
  }
  const defined = [...indexes.values(), ...(expires === undefined ? [] : [expiryIndex(shape.names, expires)])]
  return Object.freeze({
    name,
    schema: options.schema,
    indexes: Object.freeze(defined),
    shape,
    in(store: DataStore) {
      if (!hasMethods(store, ['query', 'update']))
        throw badArgument(`in of kind ${name}`, 'a DataStore', store)
      const entities = createEntities(store, shape, [...indexes.values()])
      const reads = Array.from(
        indexes,
        ([key, definition]) =>
          [
            key,
            createIndexReads(
              store,
              shape,
              definition,
              entities,
              addedInclude(definition, given[key]!.include),
            ),
          ] as const,
      )
      // What the types say of each call is what its definition says.
      return { ...entities, ...Object.fromEntries(reads), store } as unknown as Collection<S, Indexes>
    },
  })
}

/** Throws `BAD_OPTION` for what JavaScript, or a slip of the hand, may give. */
function checked(name: string, options: object): PlainOptions {
  const call = `defineKind('${name}')`
  if (!isRecord(options)) throw badArgument(call, 'options such as { schema, indexes }', options)
  for (const option of Object.keys(options)) {
    if (OPTIONS.includes(option)) continue
    throw new LooseleafError(
      'BAD_OPTION',
      `${call} has no option ${JSON.stringify(option.slice(0, 40))}; there are ${OPTIONS.join(', ')}.`,
    )
  }
  const { schema, indexes, expires, upgrades, checkReads, formerly } = options as Readonly<
    Record<keyof PlainOptions, unknown>
  >
  // A schema of arktype is a function.
  const standard: unknown =
    typeof schema === 'function' || isRecord(schema) ? Reflect.get(schema, '~standard') : undefined
  if (!hasMethods(standard, ['validate'])) {
    throw badArgument(call, 'as its schema one that speaks Standard Schema, or typed<T>()', schema)
  }
  if (indexes !== undefined && !isRecord(indexes)) throw badArgument(call, 'as indexes an object', indexes)
  if (
    upgrades !== undefined &&
    !(Array.isArray(upgrades) && upgrades.every((one) => typeof one === 'function'))
  ) {
    throw badArgument(call, 'as upgrades an array of functions', upgrades)
  }
  if (checkReads !== undefined && typeof checkReads !== 'boolean') {
    throw badArgument(call, 'as checkReads true or false', checkReads)
  }
  if (expires !== undefined && (typeof expires !== 'string' || expires === '')) {
    throw badArgument(call, 'as expires the path of a time', expires)
  }
  if (formerly !== undefined) checkFormerly(call, name, formerly)
  // Looked at above; `kindIndex` looks at each index.
  return options as unknown as PlainOptions
}

function checkFormerly(call: string, name: string, formerly: unknown): void {
  const areNames =
    Array.isArray(formerly) && formerly.every((one) => typeof one === 'string' && NAME.test(one))
  if (!areNames || formerly.length > MAX_FORMERLY) {
    throw badArgument(call, `as formerly up to ${MAX_FORMERLY} names that the kind had before`, formerly)
  }
  const names = [name, ...(formerly as readonly string[])]
  const twice = names.find((one, i) => names.indexOf(one) < i)
  if (twice !== undefined) throw new LooseleafError('BAD_OPTION', `${call} has the name ${twice} twice.`)
}

function kindIndex(
  { names, expires }: Shape,
  key: string,
  { by, shardOn, ...options }: PlainIndex,
): IndexDefinition {
  const [kind] = names
  if (!INDEX_NAME.test(key)) {
    throw new LooseleafError(
      'BAD_INDEX',
      `An index of a kind has a name such as byAuthor: letters and digits, a small letter first; got "${key}" of ${kind}.`,
    )
  }
  if (Object.hasOwn(TAKEN, key)) {
    throw new LooseleafError(
      'BAD_INDEX',
      `Index ${key} of ${kind} needs another name: a collection has a call of this one.`,
    )
  }
  const what = `Index ${key} of ${kind}`
  if (key === 'expires' && expires !== undefined) {
    throw new LooseleafError(
      'BAD_INDEX',
      `${what} needs another name: the kind has an index of this one for what expires.`,
    )
  }
  if ('on' in options) {
    throw new LooseleafError('BAD_INDEX', `${what} has the entities of its kind, so it takes no \`on\`.`)
  }
  if ('expires' in options) {
    throw new LooseleafError('BAD_INDEX', `${what} takes no \`expires\`: it is an option of the kind.`)
  }
  if (!Array.isArray(by)) {
    throw new LooseleafError('BAD_INDEX', `${what} needs a list \`by\` such as [{ status: 'string' }].`)
  }
  const properties: Record<string, unknown> = {}
  for (const property of by as readonly unknown[]) {
    const [entry, ...others] = isRecord(property) ? Object.entries(property) : []
    const [own, spec] = entry === undefined ? [] : named(...entry)
    if (own === undefined || others.length > 0 || Object.hasOwn(properties, own)) {
      throw new LooseleafError(
        'BAD_INDEX',
        `${what} needs each property once, in an object of its own: [{ status: 'string' }, { due: 'time' }].`,
      )
    }
    properties[own] = spec
  }
  return defineIndex(`${kind}_${key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}`, {
    ...options,
    ...(expires !== undefined && { expires, ...withTime(options.include, properties, expires) }),
    on: ofKind(names),
    // `defineIndex` looks at each.
    properties: properties as IndexProperties,
    shardOn: shardOn ?? Object.keys(properties)[0] ?? 'id',
  })
}

/** Throws `BAD_INDEX` for a property that may be absent where the index does not say what becomes of such an entity. */
function requireNulls(
  index: string,
  { properties }: IndexDefinition,
  { by }: PlainIndex,
  mayBeAbsent: (path: string) => boolean,
): void {
  for (const [i, { name, of = name }] of properties.entries()) {
    const [spec] = Object.values((by as readonly object[])[i] ?? {}) as unknown[]
    const isSaid = isRecord(spec) && spec['nulls'] !== undefined
    if (isSaid || !mayBeAbsent(of)) continue
    throw new LooseleafError(
      'BAD_INDEX',
      `${index}: the property ${of} may be absent or null by its schema; add nulls: 'first' or 'last' to index such entities, or 'skip' to leave them out.`,
    )
  }
}

/** A property as `defineIndex` takes it, under the name that the index has for it. */
function named(path: string, spec: unknown): [name: string, spec: unknown] {
  if (!isRecord(spec) || spec['as'] === undefined) return [path, spec]
  const { as, ...options } = spec
  return [String(as), { ...options, of: path }]
}
