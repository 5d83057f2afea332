import { LooseleafError, metaOf, setMeta, type Bag, type Entity, type EntityId } from '@looseleaf/core'
import { applyPatch, withUnknown } from './keep-unknown.ts'
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
  /** The bag for a new entity. Throws `SCHEMA_MISMATCH`. */
  toBag(value: object): Bag
  /** The bag after a patch, or undefined for none; what this program does not know stays. Throws `SCHEMA_MISMATCH`. */
  patched(bag: Bag, patchOf: (shown: object) => object | undefined, entity: EntityId): Bag | undefined
  /** The bag in the newest shape that this program knows. */
  upgraded(bag: Bag): Bag
  toItem(entity: Entity, version: number): Item<object>
}

export interface ShapeOptions {
  readonly name: string
  readonly schema: Schema
  readonly upgrades: readonly Upgrade[]
  readonly checkReads: boolean
}

export function createShape({ name, schema, upgrades, checkReads }: ShapeOptions): Shape {
  const what = (entity?: EntityId): string => (entity === undefined ? `The ${name}` : `The ${name} ${entity}`)

  const shapeOf = (bag: Bag): number => (typeof bag[SHAPE] === 'number' ? bag[SHAPE] : 0)

  function upgraded(bag: Bag): Bag {
    const { [KIND]: _, [SHAPE]: __, ...properties }: Bag = bag
    return upgrades.slice(shapeOf(bag)).reduce((now, upgrade) => upgrade(now), properties)
  }

  /** As it is stored: a shape that is newer than this program's stays said. */
  function stored(properties: object, shape: number): Bag {
    for (const kept of KEPT) {
      if (Object.hasOwn(properties, kept))
        throw new LooseleafError('BAD_PROPERTY', `The name "${kept}" is kept: a ${name} has none of its own.`)
    }
    // What cannot be stored is refused by the store, with the path to it.
    return { ...(properties as Bag), [KIND]: name, ...(shape > 0 && { [SHAPE]: shape }) }
  }

  return {
    name,
    isOf: (bag) => bag[KIND] === name,
    isOld: (bag) => shapeOf(bag) < upgrades.length,
    toBag: (value) => stored(validated(schema, value, what()), upgrades.length),
    patched(bag, patchOf, entity) {
      const now = upgraded(bag)
      const shown = checkReads ? validated(schema, now, what(entity), entity) : now
      const patch = patchOf(shown)
      if (patch === undefined) return undefined
      const full = applyPatch(now, shown as Bag, patch as Bag)
      const made = withUnknown(now, full, validated(schema, full, what(entity), entity))
      return stored(made as Bag, Math.max(shapeOf(bag), upgrades.length))
    },
    upgraded: (bag) => stored(upgraded(bag), Math.max(shapeOf(bag), upgrades.length)),
    toItem({ id, ...bag }, version) {
      const now = upgraded(bag as Bag)
      const shown = checkReads ? validated(schema, now, what(id), id) : now
      return { ...shown, id, version }
    },
  }
}

/** An entity as a store has read it, as an item; `metaOf` knows it too. */
export function readItem(shape: Shape, entity: Entity): Item<object> {
  const meta = metaOf(entity)
  if (meta === undefined) throw new Error('An entity that no store has read.')
  const item = shape.toItem(entity, meta.version)
  setMeta(item, meta)
  return item
}
