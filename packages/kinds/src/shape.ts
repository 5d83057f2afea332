import {
  copyBag,
  KIND_PROPERTY as KIND,
  LooseleafError,
  metaOf,
  setMeta,
  type Bag,
  type Entity,
  type EntityId,
  type EntityMeta,
  isPromise,
} from '@looseleaf/core'
import { agrees, applyPatch, unknownOf, withUnknown } from './keep-unknown.ts'
import { createKnownNames } from './known-names.ts'
import { copied, sameValue } from './same-value.ts'
import { addedNames, filledIn, knownPart, settled, type Outputs } from './schema-output.ts'
import { validated, validatedAgain, validatedIfFit, type Schema } from './schema.ts'

/** The property that says how many upgrades its shape has behind it; not there for none. */
export const SHAPE = '_version'

const KEPT: readonly string[] = ['id', 'version', KIND, SHAPE]

/** Brings a bag from one shape to the next. It may change the bag that it gets, and returns the new one. */
export type Upgrade = (bag: Bag) => Bag

/** An entity of a kind as it is read: its properties, its id and its version. */
export type Item<T> = T & { readonly id: EntityId; readonly version: number }

/** Says where a value comes from that is to be written. */
export interface Origin {
  readonly entity?: EntityId | undefined
  /**
   * True for a value that may be the output of the schema already: an item that was read, what a function has made of one, or a line
   * of a file. The schema is then not applied to a part that it would change again.
   */
  readonly mayBeOutput: boolean
}

/** How entities of one kind stand in bags. Nothing here is typed: the collection knows the types. */
export interface Shape {
  readonly name: string
  /** Its name, and those that it had before: entities that are stored under any of them are of this kind. */
  readonly names: readonly [string, ...string[]]
  /** The path of the time from which its entities are not there any more; undefined where they stay. */
  readonly expires: string | undefined
  isOf(bag: Bag): boolean
  /**
   * Tells whether `upgradeKinds` has to write a bag: an upgrade, a default or the name of the kind is not stored, or the bag does not fit
   * the schema.
   */
  isBehind(bag: Bag): boolean
  /** Throws `SCHEMA_MISMATCH` for a shape that a newer program has brought up: a change by this one would be lost to that. */
  requireKnown(bag: Bag, entity: EntityId | undefined): void
  /**
   * Returns a function that gives the bag to store for a whole value, in the place of a stored bag or of none: parts that are as they
   * are stored stay so where the schema would change them again. Throws `SCHEMA_MISMATCH`, and so does the function.
   */
  toBag(value: object, origin: Origin): (stored: Bag | undefined) => Bag
  /** The bag after a patch, or undefined for none; what this program does not know stays. Throws `SCHEMA_MISMATCH`. */
  patched(bag: Bag, patchOf: (show: () => object) => object | undefined, origin: Origin): Bag | undefined
  /** The bag in the newest shape with what the schema fills in. Throws `SCHEMA_MISMATCH` where it does not fit the schema. */
  upgraded(bag: Bag, entity: EntityId): Bag
  /**
   * The bag to store for one of this kind that no collection has made, such as a line of a file: the output of the schema, with the
   * names that it does not know; as it is, where it is in an older shape and can be brought up. Throws `SCHEMA_MISMATCH`.
   */
  taken(bag: Bag, entity: EntityId | undefined): Bag
  /** The item of an entity, with the defaults of the schema. */
  toItem(entity: Entity, version: number): Item<object>
}

export interface ShapeOptions {
  readonly name: string
  readonly formerly: readonly string[]
  readonly expires?: string | undefined
  readonly schema: Schema
  readonly upgrades: readonly Upgrade[]
  readonly checkReads: boolean
  /** Called for an entity that is read with values that are not stored, of defaults or upgrades, with their names; dots lead into objects. */
  readonly onFill: (entity: EntityId, names: ReadonlySet<string>) => void
}

export function createShape(options: ShapeOptions): Shape {
  const { name, formerly, expires, schema, upgrades, checkReads, onFill } = options
  const names: readonly unknown[] = [name, ...formerly]
  const knownNames = createKnownNames()
  const named = (entity: EntityId | undefined): string =>
    entity === undefined ? `The ${name}` : `The ${name} ${entity}`

  const fit = (value: object, entity?: EntityId): object => validated(schema, value, named(entity), entity)

  const numberOf = (shape: unknown): number => (typeof shape === 'number' ? shape : 0)
  const shapeOf = (bag: Bag): number => numberOf(bag[SHAPE])

  /** Its properties in the newest shape that this program knows; a copy of its own. */
  function propertiesOf(
    { [KIND]: _, [SHAPE]: shape, ...properties }: Bag,
    entity: EntityId | undefined,
  ): Bag {
    return inNewestShape(properties, numberOf(shape), entity)
  }

  function inNewestShape(properties: Bag, shape: number, entity: EntityId | undefined): Bag {
    const missing = upgrades.slice(shape)
    // An upgrade may change what it gets, which whoever has read the bag still holds.
    if (missing.length === 0) return properties
    return missing.reduce(
      (now, upgrade, i) => upgradedBy(upgrade, now, entity, shape + i),
      structuredClone(properties),
    )
  }

  function upgradedBy(upgrade: Upgrade, bag: Bag, entity: EntityId | undefined, from: number): Bag {
    const fails = `${named(entity)} cannot be brought from shape ${from} to ${from + 1}: its upgrade`
    let now: unknown
    try {
      now = upgrade(bag)
    } catch (cause) {
      throw new LooseleafError('SCHEMA_MISMATCH', `${fails} threw.`, { entity, cause })
    }
    if (typeof now === 'object' && now !== null && !isPromise(now)) return now as Bag
    Promise.resolve(now).catch(() => {})
    throw new LooseleafError('SCHEMA_MISMATCH', `${fails} has to return the new bag, at once.`, { entity })
  }

  /** As it is stored. */
  function stored(properties: object): Bag {
    for (const kept of KEPT) {
      if (Object.hasOwn(properties, kept))
        throw new LooseleafError('BAD_PROPERTY', `The name "${kept}" is kept: a ${name} has none of its own.`)
    }
    const shape = upgrades.length > 0 ? { [SHAPE]: upgrades.length } : {}
    // What cannot be stored is refused by the store, with the path to it.
    return { ...(properties as Bag), [KIND]: name, ...shape }
  }

  const isOld = (bag: Bag): boolean => shapeOf(bag) < upgrades.length

  function requireKnown(bag: Bag, entity: EntityId | undefined): void {
    if (shapeOf(bag) <= upgrades.length) return
    throw new LooseleafError(
      'SCHEMA_MISMATCH',
      `${named(entity)} is in shape ${shapeOf(bag)}, to which a newer program has brought it; this one knows ${upgrades.length}, and does not change it.`,
      { entity },
    )
  }

  /** Applies the schema to a value, and once more where that changed it. */
  function outputsFor(value: object, entity: EntityId | undefined): Pick<Outputs, 'once' | 'twice'> {
    const once = fit(value, entity)
    knownNames.note(value, once)
    const isStable = once === value || sameValue(once, value)
    return { once, twice: isStable ? once : validatedAgain(schema, once, named(entity), entity) }
  }

  /** The value to store: a part of it that is stored already is not changed again. */
  function outputFor(value: object, before: object | undefined, { entity, mayBeOutput }: Origin): object {
    const outputs = { given: value, ...outputsFor(value, entity), mayBeOutput }
    return settled(before, outputs, named(entity)) as object
  }

  function upgraded(bag: Bag, entity: EntityId | undefined): Bag {
    const now = propertiesOf(bag, entity)
    return stored(withNames(now, outputFor(now, now, { entity, mayBeOutput: true })))
  }

  /** The output for a bag, with the names that its schema has left out. */
  function withNames(bag: Bag, made: object): object {
    return withUnknown(unknownOf(bag, knownPart(bag, made)), bag, made) as object
  }

  /** The properties as they are read: with defaults, and no value in them is changed. */
  function read(now: Bag, entity: EntityId): object {
    if (!checkReads && knownNames.isComplete(now)) return now
    const made = checkReads ? fit(now, entity) : validatedIfFit(schema, now)
    if (made === undefined || made === now) return now
    knownNames.note(now, made)
    const shown = checkReads ? checkedRead(now, made, entity) : (filledIn(now, made) as object)
    const added = addedNames(now, shown)
    if (added.size > 0) onFill(entity, added)
    return shown
  }

  /** Indexes have the values before the upgrades, until the entity is written. */
  function tellUpgraded(before: Bag, now: Bag, entity: EntityId): void {
    const changed = Object.keys(now).filter((property) => !sameValue(now[property], before[property]))
    onFill(entity, new Set(changed))
  }

  function checkedRead(now: Bag, made: object, entity: EntityId): object {
    if (agrees(made, now)) return made
    const twice = validatedIfFit(schema, made)
    // A value that the schema accepts, and whose output it refuses, is no output.
    if (twice === undefined) return made
    return settled(now, { given: now, once: made, twice, mayBeOutput: false }, named(entity)) as object
  }

  return {
    name,
    names: [name, ...formerly],
    expires,
    isOf: (bag) => names.includes(bag[KIND]),
    isBehind(bag) {
      if (isOld(bag)) return true
      if (shapeOf(bag) > upgrades.length) return false
      const { id: _id, [KIND]: kind, [SHAPE]: _shape, ...properties } = bag
      if (kind !== name) return true
      const made = validatedIfFit(schema, properties)
      return made === undefined || filledIn(properties, made) !== properties
    },
    requireKnown,
    toBag(value, origin) {
      const { entity, mayBeOutput } = origin
      const { once, twice } = outputsFor(value, entity)
      // A change of the value after the call changes nothing of the bag.
      if (sameValue(once, twice)) {
        const bag = copyBag(stored(once as object))
        return () => bag
      }
      const outputs = { given: copied(value), once: copied(once), twice, mayBeOutput }
      return (before) =>
        stored(settled(before && propertiesOf(before, entity), outputs, named(entity)) as object)
    },
    patched(bag, patchOf, origin) {
      const entity = origin.entity!
      const now = propertiesOf(bag, entity)
      // A patch may mend a bag that does not fit: all of it is known then.
      const made = checkReads ? fit(now, entity) : (validatedIfFit(schema, now) ?? now)
      const known = knownPart(now, made) as Bag
      const patch = patchOf(() =>
        // A function may change the object that it gets.
        structuredClone(checkReads ? checkedRead(now, made, entity) : (filledIn(now, made) as object)),
      )
      if (patch === undefined) return undefined
      const full = applyPatch(now, known, patch as Bag)
      return stored(withUnknown(unknownOf(now, known), full, outputFor(full, now, origin)) as object)
    },
    upgraded,
    taken(bag, entity) {
      requireKnown(bag, entity)
      if (isOld(bag)) {
        upgraded(bag, entity)
        return bag
      }
      const now = propertiesOf(bag, entity)
      return stored(withNames(now, outputFor(now, undefined, { entity, mayBeOutput: true })))
    },
    // A page has many of them: each copy shows.
    toItem({ id, [KIND]: _, [SHAPE]: shape, ...properties }, version) {
      const newest = inNewestShape(properties as Bag, numberOf(shape), id)
      if (newest !== properties) tellUpgraded(properties as Bag, newest, id)
      const now = read(newest, id)
      return Object.assign(checkReads ? { ...now } : now, { id, version })
    },
  }
}

/** An entity as a store has read it, as an item; `metaOf` knows it too. */
export function readItem(shape: Shape, entity: Entity): Item<object> {
  const meta = readMeta(entity)
  const item = shape.toItem(entity, meta.version)
  setMeta(item, meta.version, meta.updated.getTime())
  return item
}

export function versionOf(entity: Entity): number {
  return readMeta(entity).version
}

function readMeta(entity: Entity): EntityMeta {
  const meta = metaOf(entity)
  if (meta === undefined) throw new Error('An entity that no store has read.')
  return meta
}
