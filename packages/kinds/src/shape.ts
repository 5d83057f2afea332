import {
  LooseleafError,
  metaOf,
  setMeta,
  type Bag,
  type Entity,
  type EntityId,
  type EntityMeta,
  isPromise,
} from '@looseleaf/core'
import { applyPatch, unknownOf, withUnknown } from './keep-unknown.ts'
import { validated, type Schema } from './schema.ts'

/** The property of a bag that says of which kind an entity is. */
export const KIND = '_kind'
/** The property that says how many upgrades its shape has behind it; not there for none. */
export const SHAPE = '_version'

const KEPT: readonly string[] = ['id', 'version', KIND, SHAPE]

/** Brings a bag from one shape to the next. It may change the bag that it gets, and returns the new one. */
export type Upgrade = (bag: Bag) => Bag

/** An entity of a kind as it is read: its properties, its id and its version. */
export type Item<T> = T & { readonly id: EntityId; readonly version: number }

/** How entities of one kind stand in bags. Nothing here is typed: the collection knows the types. */
export interface Shape {
  readonly name: string
  isOf(bag: Bag): boolean
  /** True where an upgrade has not been stored yet. */
  isOld(bag: Bag): boolean
  /** Throws `SCHEMA_MISMATCH` for a shape that a newer program has brought up: a change by this one would be lost to that. */
  requireKnown(bag: Bag, entity: EntityId | undefined): void
  /** The bag for a new entity. Throws `SCHEMA_MISMATCH`. */
  toBag(value: object): Bag
  /** The bag after a patch, or undefined for none; what this program does not know stays. Throws `SCHEMA_MISMATCH`. */
  patched(bag: Bag, patchOf: (shown: object) => object | undefined, entity: EntityId): Bag | undefined
  /** The bag in the newest shape, which fits the schema. Throws `SCHEMA_MISMATCH`. */
  upgraded(bag: Bag, entity: EntityId): Bag
  /**
   * What is to be stored of a bag of this kind that no collection has made, such as a line of a file: what the schema makes of it and what it
   * does not know; as it is, where it is in an older shape and can be brought up. Throws `SCHEMA_MISMATCH`.
   */
  taken(bag: Bag, entity: EntityId | undefined): Bag
  toItem(entity: Entity, version: number): Item<object>
}

export interface ShapeOptions {
  readonly name: string
  readonly schema: Schema
  readonly upgrades: readonly Upgrade[]
  readonly checkReads: boolean
}

export function createShape({ name, schema, upgrades, checkReads }: ShapeOptions): Shape {
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

  /** What the schema knows of what is stored; all of it where that does not fit: a patch may mend it. */
  function knownOf(properties: Bag, entity: EntityId): Bag {
    try {
      return fit(properties, entity) as Bag
    } catch {
      return properties
    }
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

  function upgraded(bag: Bag, entity: EntityId | undefined): Bag {
    const now = propertiesOf(bag, entity)
    const made = fit(now, entity)
    return stored(withUnknown(unknownOf(now, made), now, made) as Bag)
  }

  return {
    name,
    isOf: (bag) => bag[KIND] === name,
    isOld,
    requireKnown,
    toBag: (value) => stored(fit(value)),
    patched(bag, patchOf, entity) {
      const now = propertiesOf(bag, entity)
      const known = checkReads ? (fit(now, entity) as Bag) : knownOf(now, entity)
      // What is done to what is shown is not what it returns.
      const patch = patchOf(structuredClone(checkReads ? known : now))
      if (patch === undefined) return undefined
      const full = applyPatch(now, known, patch as Bag)
      return stored(withUnknown(unknownOf(now, known), full, fit(full, entity)) as Bag)
    },
    upgraded,
    taken(bag, entity) {
      requireKnown(bag, entity)
      const now = upgraded(bag, entity)
      return isOld(bag) ? bag : now
    },
    // A page has many of them: each copy shows.
    toItem({ id, [KIND]: _, [SHAPE]: shape, ...properties }, version) {
      const now = inNewestShape(properties as Bag, numberOf(shape), id)
      return Object.assign(checkReads ? { ...fit(now, id) } : now, { id, version })
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
