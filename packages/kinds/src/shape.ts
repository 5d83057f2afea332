import {
  copyBag,
  LooseleafError,
  metaOf,
  type Bag,
  type Entity,
  type EntityId,
  type EntityMeta,
} from '@looseleaf/core'
import { KIND_PROPERTY as KIND, setMeta, isPromise } from '@looseleaf/core/internal'
import type { FillWarning, OnWarning } from './fill-warning.ts'
import { agrees, applyPatch, unknownOf, withUnknown } from './keep-unknown.ts'
import { createKnownNames } from './known-names.ts'
import { knownOfMisfit } from './known-of-misfit.ts'
import { createPatchNames } from './patch-names.ts'
import { copied, sameValue } from './same-value.ts'
import { addedNames, filledIn, knownPart, settled, type Outputs } from './schema-output.ts'
import { validated, validatedAgain, validatedIfFit, type Schema } from './schema.ts'

/** The property with the number of applied upgrades. Absent if the kind has no upgrades. */
const SHAPE = '_version'

const RESERVED: readonly string[] = ['id', 'version', KIND, SHAPE]

/** Brings a bag from one shape to the next. May mutate the given bag, and returns the new one. */
export type Upgrade = (bag: Bag) => Bag

/** An entity of a kind as it is read: its properties, its id and its version. */
export type Item<T> = T & { readonly id: EntityId; readonly version: number }

export interface Origin {
  readonly entity?: EntityId | undefined
  /**
   * True if the value may be an output of the schema already: an item, the result of an edit, or a line of a file. A part that the schema
   * would change again is then refused, unless it equals the stored one.
   */
  readonly mayBeOutput: boolean
}

/** Converts between bags and items of one kind. Untyped: the collection adds the types. */
export interface Shape {
  readonly name: string
  /** The name of the kind and its former names. Entities stored under any of them belong to the kind. */
  readonly names: readonly [string, ...string[]]
  /** The path of the time at which entities expire; undefined if they never do. */
  readonly expires: string | undefined
  isOf(bag: Bag): boolean
  /**
   * Tells whether `upgradeKinds` has to write a bag: it lacks an upgrade, a default or the current name of the kind, or it does not fit
   * the schema.
   */
  isBehind(bag: Bag): boolean
  /** Throws `SCHEMA_MISMATCH` if a newer program has brought the bag to a shape that this program does not know. */
  requireKnown(bag: Bag, entity: EntityId | undefined): void
  /**
   * Returns a function that makes the bag to store for a whole value. The function gets the stored bag, if there is one: a part that
   * equals the stored one stays, so that the schema does not change it again. Both throw `SCHEMA_MISMATCH`.
   */
  toBag(value: object, origin: Origin): (stored: Bag | undefined) => Bag
  /** Throws `BAD_PROPERTY` if the schema would drop every name of a patch. */
  requireNames(patch: object): void
  /**
   * Applies a patch to a bag; unknown properties stay. Undefined if the patch changes nothing. Throws `SCHEMA_MISMATCH`, and `BAD_PROPERTY`
   * for a name that the schema would drop, unless the bag has it.
   */
  patched(bag: Bag, patchOf: (show: () => object) => object | undefined, origin: Origin): Bag | undefined
  /** Returns the bag in the newest shape, with defaults. Throws `SCHEMA_MISMATCH` if it does not fit the schema. */
  upgraded(bag: Bag, entity: EntityId): Bag
  /**
   * Returns the bag to store for a bag from elsewhere, such as a line of a file: the output of the schema with the unknown names. A bag in
   * an older shape stays as it is, if it can be upgraded. Throws `SCHEMA_MISMATCH`.
   */
  taken(bag: Bag, entity: EntityId | undefined): Bag
  /**
   * Makes the item of an entity, with upgrades and defaults. Calls `onDerived` if the item may differ from the stored bag, so that index
   * rows may have other values.
   */
  toItem(entity: Entity, version: number, onWarning: OnWarning, onDerived?: () => void): Item<object>
}

export interface ShapeOptions {
  readonly name: string
  readonly formerly: readonly string[]
  readonly expires?: string | undefined
  readonly schema: Schema
  readonly upgrades: readonly Upgrade[]
  readonly checkReads: boolean
  readonly onFill: FillWarning
}

export function createShape(options: ShapeOptions): Shape {
  const { name, formerly, expires, schema, upgrades, checkReads, onFill } = options
  const names: readonly unknown[] = [name, ...formerly]
  const knownNames = createKnownNames()
  const patchNames = createPatchNames(schema, RESERVED)
  const subjectOf = (entity: EntityId | undefined): string =>
    entity === undefined ? `The ${name}` : `The ${name} ${entity}`

  const fit = (value: object, entity?: EntityId): object =>
    validated(schema, value, subjectOf(entity), entity)

  const numberOf = (shape: unknown): number => (typeof shape === 'number' ? shape : 0)
  const shapeOf = (bag: Bag): number => numberOf(bag[SHAPE])

  /** Returns a new object with the properties in the newest shape that this program knows. */
  function propertiesOf(
    { [KIND]: _, [SHAPE]: shape, ...properties }: Bag,
    entity: EntityId | undefined,
  ): Bag {
    return inNewestShape(properties, numberOf(shape), entity)
  }

  function inNewestShape(properties: Bag, shape: number, entity: EntityId | undefined): Bag {
    const missing = upgrades.slice(shape)
    // An upgrade may mutate its argument, and other callers may hold the bag that was read.
    if (missing.length === 0) return properties
    return missing.reduce(
      (current, upgrade, i) => applyUpgrade(upgrade, current, entity, shape + i),
      structuredClone(properties),
    )
  }

  function applyUpgrade(upgrade: Upgrade, bag: Bag, entity: EntityId | undefined, from: number): Bag {
    const failure = `${subjectOf(entity)} cannot be brought from shape ${from} to ${from + 1}: its upgrade`
    let result: unknown
    try {
      result = upgrade(bag)
    } catch (cause) {
      throw new LooseleafError('SCHEMA_MISMATCH', `${failure} threw.`, { entity, cause })
    }
    if (typeof result === 'object' && result !== null && !isPromise(result)) return result as Bag
    Promise.resolve(result).catch(() => {})
    throw new LooseleafError('SCHEMA_MISMATCH', `${failure} has to return the new bag synchronously.`, {
      entity,
    })
  }

  /** Adds the name of the kind and the number of the shape. Throws `BAD_PROPERTY` for a reserved name. */
  function storedForm(properties: object): Bag {
    for (const reserved of RESERVED) {
      if (Object.hasOwn(properties, reserved))
        throw new LooseleafError(
          'BAD_PROPERTY',
          `The name "${reserved}" is reserved: the kind ${name} cannot have a property with this name.`,
        )
    }
    const shape = upgrades.length > 0 ? { [SHAPE]: upgrades.length } : {}
    // The store refuses values that cannot be stored, with their path.
    return { ...(properties as Bag), [KIND]: name, ...shape }
  }

  const isOld = (bag: Bag): boolean => shapeOf(bag) < upgrades.length

  function requireKnown(bag: Bag, entity: EntityId | undefined): void {
    if (shapeOf(bag) <= upgrades.length) return
    throw new LooseleafError(
      'SCHEMA_MISMATCH',
      `${subjectOf(entity)} is in shape ${shapeOf(bag)}, to which a newer program has brought it; this program knows shape ${upgrades.length}, and does not change it.`,
      { entity },
    )
  }

  /** Applies the schema to a value, and a second time if the first changed it. */
  function outputsFor(value: object, entity: EntityId | undefined): Pick<Outputs, 'once' | 'twice'> {
    const once = fit(value, entity)
    knownNames.note(value, once)
    const isStable = once === value || sameValue(once, value)
    return { once, twice: isStable ? once : validatedAgain(schema, once, subjectOf(entity), entity) }
  }

  /** Returns the value to store. A part that equals the stored one is not changed again. */
  function outputFor(value: object, before: object | undefined, { entity, mayBeOutput }: Origin): object {
    const outputs = { given: value, ...outputsFor(value, entity), mayBeOutput }
    return settled(before, outputs, subjectOf(entity)) as object
  }

  function upgraded(bag: Bag, entity: EntityId | undefined): Bag {
    const properties = propertiesOf(bag, entity)
    const output = outputFor(properties, properties, { entity, mayBeOutput: true })
    return storedForm(withUnknownNames(properties, output))
  }

  /** Adds to the output for a bag the names that the schema has left out. */
  function withUnknownNames(bag: Bag, output: object): object {
    return withUnknown(unknownOf(bag, knownPart(bag, output)), bag, output) as object
  }

  /** Returns the properties that a read shows: with defaults, and by `checkReads` as the output of the schema. */
  function shownTo(properties: Bag, entity: EntityId, onWarning: OnWarning): object {
    if (!checkReads && knownNames.isComplete(properties)) return properties
    const output = checkReads ? fit(properties, entity) : validatedIfFit(schema, properties)
    if (output === undefined || output === properties) return properties
    knownNames.note(properties, output)
    const shown = checkReads
      ? checkedRead(properties, output, entity)
      : (filledIn(properties, output) as object)
    const added = addedNames(properties, shown)
    if (added.size > 0) onFill(entity, added, onWarning)
    return shown
  }

  /** Reports the properties that upgrades have changed. Indexes have the old values until the entity is written. */
  function reportUpgraded(before: Bag, after: Bag, entity: EntityId, onWarning: OnWarning): void {
    const changed = Object.keys(after).filter((property) => !sameValue(after[property], before[property]))
    onFill(entity, new Set(changed), onWarning)
  }

  function checkedRead(properties: Bag, output: object, entity: EntityId): object {
    if (agrees(output, properties)) return output
    const twice = validatedIfFit(schema, output)
    // The schema refuses its own output, so the stored value was an input, and its output is the value to show.
    if (twice === undefined) return output
    const outputs = { given: properties, once: output, twice, mayBeOutput: false }
    return settled(properties, outputs, subjectOf(entity)) as object
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
      const output = validatedIfFit(schema, properties)
      return output === undefined || filledIn(properties, output) !== properties
    },
    requireKnown,
    requireNames: (patch) => patchNames.requireAny(patch, `The kind ${name}`),
    toBag(value, origin) {
      const { entity, mayBeOutput } = origin
      const { once, twice } = outputsFor(value, entity)
      // Copies, because the caller may mutate the value after the call.
      if (sameValue(once, twice)) {
        const bag = copyBag(storedForm(once as object))
        return () => bag
      }
      const outputs = { given: copied(value), once: copied(once), twice, mayBeOutput }
      return (before) =>
        storedForm(settled(before && propertiesOf(before, entity), outputs, subjectOf(entity)) as object)
    },
    patched(bag, patchOf, origin) {
      const entity = origin.entity!
      const before = propertiesOf(bag, entity)
      // A patch may repair a bag that does not fit the schema.
      const fitting = checkReads ? fit(before, entity) : validatedIfFit(schema, before)
      const output = fitting ?? before
      const patch = patchOf(() =>
        // An edit may mutate its argument.
        structuredClone(
          checkReads ? checkedRead(before, output, entity) : (filledIn(before, output) as object),
        ),
      )
      if (patch === undefined) return undefined
      patchNames.requireAll(patch, before, subjectOf(entity))
      const known = fitting
        ? (knownPart(before, fitting) as Bag)
        : knownOfMisfit(before, patch as Bag, (repaired) => validatedIfFit(schema, repaired))
      const full = applyPatch(before, known, patch as Bag)
      return storedForm(
        withUnknown(unknownOf(before, known), full, outputFor(full, before, origin)) as object,
      )
    },
    upgraded,
    taken(bag, entity) {
      requireKnown(bag, entity)
      if (isOld(bag)) {
        upgraded(bag, entity)
        return bag
      }
      const properties = propertiesOf(bag, entity)
      const output = outputFor(properties, undefined, { entity, mayBeOutput: true })
      return storedForm(withUnknownNames(properties, output))
    },
    // A hot path: a page calls it for each entity, so it copies as little as possible.
    toItem({ id, [KIND]: _, [SHAPE]: shape, ...properties }, version, onWarning, onDerived) {
      const newest = inNewestShape(properties as Bag, numberOf(shape), id)
      if (newest !== properties) reportUpgraded(properties as Bag, newest, id, onWarning)
      const shown = shownTo(newest, id, onWarning)
      if (shown !== properties) onDerived?.()
      return Object.assign(checkReads ? { ...shown } : shown, { id, version })
    },
  }
}

/** Makes the item of an entity that a store has read, see `Shape.toItem`. `metaOf` works for the item, too. */
export function readItem(
  shape: Shape,
  entity: Entity,
  onWarning: OnWarning,
  onDerived?: () => void,
): Item<object> {
  const meta = readMeta(entity)
  const item = shape.toItem(entity, meta.version, onWarning, onDerived)
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
