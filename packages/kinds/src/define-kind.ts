import {
  badOption,
  badArgument,
  checkOptions,
  hasMethods,
  isRecord,
  optionKinds,
  type OptionKinds,
} from '@looseleaf/core/internal'
import {
  defineIndex,
  type IndexDefinition,
  type IndexOptions,
  type IndexProperties,
} from '@looseleaf/index-engine'
import type { DataStore } from '@looseleaf/store'
import { absenceBySchema } from './absence-by-schema.ts'
import { badIndex } from './bad-index.ts'
import type { CheckedExpiry, TimeOf } from './checked-expiry.ts'
import type { CheckedIndex } from './checked-index.ts'
import type { Changes } from './checked-patch.ts'
import type { CheckedNear, NearOption } from './checked-near.ts'
import type { Collection, Page } from './collection.ts'
import { createEntities, type UntypedEntities } from './entities.ts'
import { addedInclude, expiryIndex, ofKind, withTime } from './expiry-index.ts'
import { createFillWarning } from './fill-warning.ts'
import { createIndexReads } from './index-reads.ts'
import { kindNear, withNear, type KindNear } from './near.ts'
import type { KeyOf, PathOf } from './property-paths.ts'
import type { Fitting, Schema, SchemaInput, SchemaOutput } from './schema.ts'
import { createShape, type Item, type Shape, type Upgrade } from './shape.ts'

/** An index of a kind. Only entities of the kind have rows. */
export interface KindIndex<T> extends Omit<
  IndexOptions,
  'properties' | 'shardOn' | 'near' | 'include' | 'on' | 'expires'
> {
  /** One to eight properties in the order of the key, each in an object of its own, with a type or options. */
  readonly by: readonly [KeyOf<T>, ...KeyOf<T>[]]
  /** The property that decides on which shard a row stands, or 'id': a row stands on the shard of its entity. Default: the first property. */
  readonly shardOn?: string | undefined
  readonly include?: readonly (PathOf<T> | (string & {}))[] | undefined
}

/** Gives a wrong index the type of a sentence, so that it does not compile. `SuggestedIndex` is for suggestions of editors. */
type CheckedIndexes<T, Indexes> = {
  readonly [Name in keyof Indexes]: CheckedIndex<T, Indexes[Name]> & SuggestedIndex<T>
}

/** A `KindIndex` with any `by`, so that the compiler reports a wrong one by the sentence of `CheckedIndex`. */
type SuggestedIndex<T> = Omit<KindIndex<T>, 'by'> & { readonly by?: KindIndex<T>['by'] | {} }

export interface KindOptions<S extends Schema, Indexes, Expires = string, Near = NearOption> {
  /**
   * Up to 15 former names of the kind. Entities stored under them belong to this kind, and get its name at their next write. Never remove
   * a name: the indexes of the kind would change, and have to be filled again. See "Renaming a kind" in the README.
   */
  readonly formerly?: readonly string[] | undefined
  /** A synchronous schema of any library that implements Standard Schema; or `typed<T>()`, which checks nothing. */
  readonly schema: Fitting<S> & S
  /**
   * Indexes by their names in a collection. Index `byTitle` of kind `issue` is `issue_by_title` in the store, a name of up to 40
   * characters.
   */
  readonly indexes?: (Indexes & CheckedIndexes<SchemaOutput<S>, Indexes>) | undefined
  /**
   * The path of a time from which reads and writes of the kind treat an entity as deleted, by the clock of the process. A cleaner deletes
   * it at least a minute later. An entity without a time never expires. Adds an index `<kind>_expires`.
   */
  readonly expires?: (Expires & CheckedExpiry<SchemaOutput<S>, Expires>) | undefined
  /**
   * The path of a property whose bucket new entities get: `near: 'tenant'`. Their rows in indexes with this property as `shardOn` are then on
   * their own shard. A path alone has the type that such indexes have for it, and is a uuid without one; `{ tenant: 'string' }` names the type.
   * Only a write that makes an id looks at it: an entity keeps its id, and so its place, if the property changes.
   */
  readonly near?: (Near & CheckedNear<SchemaOutput<S>, Near>) | undefined
  /**
   * Functions that bring a bag from one shape to the next. A read applies those that an entity lacks; the next write stores the result.
   * Indexes have the stored values until then; `upgradeKinds` writes all old entities. Never remove an upgrade, and add new ones at the
   * end.
   */
  readonly upgrades?: readonly Upgrade[] | undefined
  /** Applies the schema to every entity that is read, and returns its output. Default: false, because writes are checked. */
  readonly checkReads?: boolean | undefined
}

/** A kind without the types of its entities. */
export interface AnyKind {
  readonly name: string
  /** All indexes of the kind, for `indexes` of `DataStore.open`. */
  readonly indexes: readonly IndexDefinition[]
  readonly shape: Shape
  /** The property whose bucket fresh ids get; undefined without the option `near`. */
  readonly near: KindNear | undefined
}

/** A kind of entities, independent of a store. */
export interface Kind<
  S extends Schema,
  Indexes,
  Near = undefined,
  Name extends string = string,
> extends AnyKind {
  readonly name: Name
  readonly schema: S
  /** Returns the collection of the kind's entities in a store. */
  in(store: DataStore): Collection<S, Indexes, Near>
}

/** `KindOptions` without types. */
interface PlainOptions {
  readonly formerly?: readonly string[]
  readonly schema: Schema
  readonly indexes?: Readonly<Record<string, PlainIndex>>
  readonly expires?: string
  readonly near?: NearOption
  readonly upgrades?: readonly Upgrade[]
  readonly checkReads?: boolean
}

type PlainIndex = Omit<KindIndex<object>, 'by' | 'include'> & {
  readonly by: unknown
  readonly include?: readonly string[] | undefined
}

/** The type of the kind's items: `ItemOf<typeof Issue>`. */
export type ItemOf<K extends { readonly schema: Schema }> = Item<SchemaOutput<K['schema']>>

/** The type of a page of the kind's items: `PageOf<typeof Issue>`. */
export type PageOf<K extends { readonly schema: Schema }> = Page<SchemaOutput<K['schema']>>

/** The type of the kind's patches in object form: `ChangesOf<typeof Issue>`. */
export type ChangesOf<K extends { readonly schema: Schema }> = Changes<SchemaOutput<K['schema']>>

/** The type of the kind's new values: `InputOf<typeof Issue>`. */
export type InputOf<K extends { readonly schema: Schema }> = SchemaInput<K['schema']>

/** Names of a collection that an index may not have. */
const RESERVED: Readonly<Record<keyof UntypedEntities | 'store', true>> = {
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
  newId: true,
  deriveId: true,
  intersect: true,
  changes: true,
  itemOf: true,
  writes: true,
  store: true,
}
const NAME = /^[a-z][a-z0-9_]{0,29}$/
/** With the name of the kind they make 16 values, as many as a list in `on` takes. */
const MAX_FORMERLY = 15
const INDEX_NAME = /^[a-z][A-Za-z0-9]*$/

/**
 * Defines a kind; sends and creates nothing. The name has up to 30 lower case letters, digits and `_`, and is stored with every entity.
 * Throws `BAD_OPTION` for an invalid option, and `BAD_INDEX` for an invalid index.
 */
export function defineKind<
  S extends Schema,
  const Indexes extends { readonly [name: string]: SuggestedIndex<SchemaOutput<S>> } = {},
  const Expires extends TimeOf<SchemaOutput<S>> | (string & {}) = string,
  const Near extends NearOption | PathOf<SchemaOutput<S>> | undefined = undefined,
  Name extends string = string,
>(name: Name, options: KindOptions<S, Indexes, Expires, Near>): Kind<S, Indexes, Near, Name> {
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
    indexes: indexOptions = {},
    expires,
    near: nearOption,
  } = checkKindOptions(name, options)
  const indexes = new Map<string, IndexDefinition>()
  const onFill = createFillWarning(name, () => defined)
  const shape = createShape({ name, formerly, expires, schema, upgrades, checkReads, onFill })
  const mayBeAbsent = absenceBySchema(schema)
  for (const [key, index] of Object.entries(indexOptions)) {
    const definition = kindIndex(shape, key, index)
    requireNulls(`Index ${key} of ${name}`, definition, index, mayBeAbsent)
    indexes.set(key, definition)
  }
  const near = nearOption === undefined ? undefined : kindNear(name, nearOption, [...indexes.values()])
  if (near !== undefined)
    for (const [key, definition] of indexes) indexes.set(key, withNear(definition, near))
  const defined = [...indexes.values(), ...(expires === undefined ? [] : [expiryIndex(shape.names, expires)])]
  return Object.freeze({
    name,
    schema: options.schema,
    indexes: Object.freeze(defined),
    shape,
    near,
    in(store: DataStore) {
      if (!hasMethods(store, ['query', 'update']))
        throw badArgument(`in of kind ${name}`, 'a DataStore', store)
      const entities = createEntities(store, shape, [...indexes.values()], near)
      const reads = Array.from(indexes, ([key, definition]) => {
        const hidden = addedInclude(definition, indexOptions[key]!.include)
        return [key, createIndexReads(store, shape, definition, entities, hidden)] as const
      })
      // The types of the calls follow from the options; `Object.fromEntries` loses them.
      return { ...entities, ...Object.fromEntries(reads), store } as unknown as Collection<S, Indexes, Near>
    },
  })
}

/** Adds no defaults. Throws `BAD_OPTION` for options of programs without types, and misspelt ones. */
function checkKindOptions(name: string, options: object): PlainOptions {
  const call = `defineKind('${name}')`
  checkOptions(call, options as PlainOptions, optionsOfKind)
  const { schema, formerly } = options as PlainOptions
  if (schema === undefined) throw badArgument(call, `{ schema }, ${optionsOfKind.schema.expected}`, schema)
  const names = [name, ...(formerly ?? [])]
  const repeated = names.find((each, i) => names.indexOf(each) < i)
  if (repeated !== undefined) throw badOption(`${call} has the name ${repeated} twice.`)
  // Checked above; `kindIndex` checks each index.
  return options as PlainOptions
}

const optionsOfKind: OptionKinds<PlainOptions> = {
  schema: {
    expected: 'one that implements Standard Schema, or typed<T>()',
    // Schemas of arktype are functions.
    fits: (schema) =>
      (typeof schema === 'function' || isRecord(schema)) &&
      hasMethods(Reflect.get(schema as object, '~standard'), ['validate']),
  },
  indexes: { expected: 'an object', fits: isRecord },
  expires: {
    expected: 'the path of a time',
    fits: (path) => typeof path === 'string' && path !== '',
  },
  near: optionKinds.elsewhere,
  upgrades: {
    expected: 'an array of functions',
    fits: (upgrades) => Array.isArray(upgrades) && upgrades.every((upgrade) => typeof upgrade === 'function'),
  },
  checkReads: optionKinds.flag,
  formerly: {
    expected: `up to ${MAX_FORMERLY} names that the kind had before`,
    fits: (names) =>
      Array.isArray(names) &&
      names.length <= MAX_FORMERLY &&
      names.every((name) => typeof name === 'string' && NAME.test(name)),
  },
}

function kindIndex(
  { names, expires }: Shape,
  key: string,
  { by, shardOn, ...options }: PlainIndex,
): IndexDefinition {
  const [kind] = names
  if (!INDEX_NAME.test(key)) {
    throw badIndex(
      `An index of a kind has a name such as byAuthor: letters and digits, a lower case letter first; got "${key}" of ${kind}.`,
    )
  }
  if ((RESERVED as Readonly<Record<string, true | undefined>>)[key] === true) {
    throw badIndex(`Index ${key} of ${kind} needs another name: a collection has a call with this name.`)
  }
  const subject = `Index ${key} of ${kind}`
  if (key === 'expires' && expires !== undefined) {
    throw badIndex(`${subject} needs another name: the option expires adds an index with this name.`)
  }
  if ('on' in options) {
    throw badIndex(
      `${subject} has the entities of its kind, so it takes no \`on\`. To leave entities out of it, or to free their unique keys, index a property that is null or an empty array in them, with nulls: 'skip'.`,
    )
  }
  for (const option of ['expires', 'near'])
    if (option in options) throw badIndex(`${subject} takes no \`${option}\`: it is an option of the kind.`)
  if (!Array.isArray(by)) {
    throw badIndex(`${subject} needs a list \`by\` such as [{ status: 'string' }].`)
  }
  const properties: Record<string, unknown> = {}
  for (const part of by as readonly unknown[]) {
    const [entry, ...others] = isRecord(part) ? Object.entries(part) : []
    const [property, spec] = entry === undefined ? [] : namedProperty(...entry)
    if (property === undefined || others.length > 0 || Object.hasOwn(properties, property)) {
      throw badIndex(
        `${subject} needs each property once, in an object of its own: [{ status: 'string' }, { due: 'time' }].`,
      )
    }
    properties[property] = spec
  }
  return defineIndex(`${kind}_${key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}`, {
    ...options,
    ...(expires !== undefined && { expires, ...withTime(options.include, properties, expires) }),
    on: ofKind(names),
    // `defineIndex` checks each.
    properties: properties as IndexProperties,
    shardOn: shardOn ?? Object.keys(properties)[0] ?? 'id',
  })
}

/** Throws `BAD_INDEX` for a property that may be absent, unless it has `nulls`. */
function requireNulls(
  index: string,
  { properties }: IndexDefinition,
  { by }: PlainIndex,
  mayBeAbsent: (path: string) => boolean,
): void {
  for (const [i, { name, of = name }] of properties.entries()) {
    const [spec] = Object.values((by as readonly object[])[i] ?? {}) as unknown[]
    const hasNulls = isRecord(spec) && spec['nulls'] !== undefined
    if (hasNulls || !mayBeAbsent(of)) continue
    throw badIndex(
      `${index}: the property ${of} may be absent or null by its schema; add nulls: 'first' or 'last' to index such entities, or 'skip' to leave them out.`,
    )
  }
}

/** Returns a property in the form of `defineIndex`: its name in the index, and its type or options. */
function namedProperty(path: string, spec: unknown): [name: string, spec: unknown] {
  if (!isRecord(spec) || spec['as'] === undefined) return [path, spec]
  const { as, ...options } = spec
  return [String(as), { ...options, of: path }]
}
