import { formatId, LooseleafError, parseId, type Bag, type EntityId } from '@looseleaf/core'
import { badOption, copyEntity, isPromise, type EntityCopy } from '@looseleaf/core/internal'
import { unchanged } from '../unchanged.ts'
import { sameBody } from './attempt.ts'
import type { Edit, DamagedEntity } from '../types.ts'

/** The state that an attempt found under the id: a living entity, a tombstone (no bag), or nothing (version 0, no bag). */
export interface CurrentEntity {
  readonly version: number
  /** Decoded for this attempt alone, so the decision may change it. */
  readonly bag: Bag | undefined
  /** The error for a living entity whose body cannot be decoded; `bag` is undefined then. */
  readonly damaged: LooseleafError | undefined
  /** The stored body; null for a tombstone and for nothing. */
  readonly body: Uint8Array | null
}

/** An edit of any state. Returns the new bag, null to delete the entity, or `unchanged` to write nothing. */
export type AnyEdit = (bag: Bag | undefined, id: EntityId) => object | null | typeof unchanged

/**
 * Returns the bag to write, null for a tombstone, or undefined to leave the entity unchanged. The bag has to come from `copyBag`, so
 * that the body and the index rows have the same values. Called once per attempt.
 */
export type Decide = (found: CurrentEntity) => Bag | null | undefined

/** Decides for `put`: writes the bag over any state. */
export function toPut(id: Uint8Array, properties: Bag, ifVersion: number | undefined): Decide {
  return (found) => {
    checkVersion(id, found, ifVersion)
    return properties
  }
}

/** Decides for `insert`: writes the bag if there is no entity, and throws `ALREADY_EXISTS` otherwise. */
export function toInsert(id: Uint8Array, properties: Bag): Decide {
  return (found) => {
    if (!isLiving(found)) return properties
    const entity = formatId(id)
    throw new LooseleafError('ALREADY_EXISTS', `There is an entity ${entity} already.`, { entity })
  }
}

/** Decides for `update`: writes the bag that the caller's edit returns. Throws `NOT_FOUND`. */
export function toUpdate(id: Uint8Array, edit: Edit, ifVersion: number | undefined): Decide {
  return (found) => {
    if (found.damaged !== undefined) throw found.damaged
    if (found.bag === undefined) {
      const entity = formatId(id)
      throw new LooseleafError('NOT_FOUND', `There is no entity ${entity}.`, { entity })
    }
    checkVersion(id, found, ifVersion)
    const edited = edit(found.bag)
    if (edited === unchanged) return undefined
    if (edited === undefined) {
      throw badOption(
        'The function of update has to return the new bag, or `unchanged` to leave the entity as it is; it returned nothing.',
      )
    }
    const { id: bagId, properties } = copyEdited(edited)
    if (bagId !== undefined) checkBagId(id, bagId)
    return properties
  }
}

function copyEdited(edited: unknown): EntityCopy {
  try {
    return copyEntity(edited)
  } catch (error) {
    if (!isPromise(edited)) throw error
    // Its rejection must not end the process.
    Promise.resolve(edited).catch(() => {})
    throw new LooseleafError(
      'BAD_PROPERTY',
      'The function of update has to return the new bag synchronously; it returned a promise. Await what it needs before the call.',
    )
  }
}

/** Decides for `delete`: writes a tombstone if there is an entity. */
export function toDelete(id: Uint8Array, ifVersion: number | undefined): Decide {
  return (found) => {
    checkVersion(id, found, ifVersion)
    return isLiving(found) ? null : undefined
  }
}

/** Decides for a check of a batch: writes nothing, and throws unless the entity has this version; 0 if there must be none. */
export function toCheck(id: Uint8Array, ifVersion: number): Decide {
  return (found) => {
    checkVersion(id, found, ifVersion)
    return undefined
  }
}

/**
 * Decides by an edit that gets undefined where there is no entity, and may return null to delete the entity. Throws the error of a damaged
 * body.
 */
export function toEdit(id: Uint8Array, edit: AnyEdit, ifVersion: number | undefined): Decide {
  return (found) => {
    if (found.damaged !== undefined) throw found.damaged
    // The edit decides about a missing entity.
    if (found.bag !== undefined) checkVersion(id, found, ifVersion)
    const edited = edit(found.bag, formatId(id))
    if (edited === unchanged) return undefined
    return edited === null ? null : copyEntity(edited).properties
  }
}

/** Decides for `deleteDamaged`: writes a tombstone if the entity is still damaged and has the version and body that the scan found. */
export function toDeleteDamaged({ version, body }: DamagedEntity): Decide {
  return (found) =>
    found.damaged?.code === 'BODY_DAMAGED' &&
    found.version === version &&
    body !== null &&
    sameBody(found.body, body)
      ? null
      : undefined
}

/** Throws `BAD_ID` if the bag has the id of another entity. */
function checkBagId(id: Uint8Array, bagId: unknown): void {
  const entity = formatId(id)
  if (formatId(parseId(bagId)) === entity) return
  throw new LooseleafError('BAD_ID', `The bag given for entity ${entity} has another id.`, { entity })
}

/** Returns true for a living entity, damaged or not. */
export function isLiving({ bag, damaged }: CurrentEntity): boolean {
  return bag !== undefined || damaged !== undefined
}

function checkVersion(id: Uint8Array, found: CurrentEntity, ifVersion: number | undefined): void {
  const version = isLiving(found) ? found.version : 0
  if (ifVersion === undefined || version === ifVersion) return
  const entity = formatId(id)
  throw new LooseleafError(
    'VERSION_MISMATCH',
    `Entity ${entity} is at version ${version}${version === 0 ? ' (there is none)' : ''}, not at ${ifVersion}.`,
    { entity },
  )
}
