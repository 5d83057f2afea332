import { copyEntity, formatId, LooseleafError, parseId, type Bag, type EntityCopy } from '@looseleaf/core'
import type { Decide, CurrentEntity } from './entity-writer.ts'
import { unchanged } from '../unchanged.ts'
import type { Change, DamagedEntity } from '../types.ts'

/** What `put` makes of whatever it finds: the new bag. */
export function toPut(id: Uint8Array, properties: Bag, ifVersion: number | undefined): Decide {
  return (found) => {
    checkVersion(id, found, ifVersion)
    return properties
  }
}

/** What `insert` makes of it: the new bag, if there is nothing. */
export function toInsert(id: Uint8Array, properties: Bag): Decide {
  return (found) => {
    if (!isThere(found)) return properties
    const entity = formatId(id)
    throw new LooseleafError('ALREADY_EXISTS', `There is an entity ${entity} already.`, { entity })
  }
}

/** What `update` makes of it: what its caller's function says. */
export function toUpdate(id: Uint8Array, change: Change, ifVersion: number | undefined): Decide {
  return (found) => {
    if (found.damaged !== undefined) throw found.damaged
    if (found.bag === undefined) {
      const entity = formatId(id)
      throw new LooseleafError('NOT_FOUND', `There is no entity ${entity}.`, { entity })
    }
    checkVersion(id, found, ifVersion)
    const changed = change(found.bag)
    if (changed === unchanged) return undefined
    if (changed === undefined) {
      throw new LooseleafError(
        'BAD_OPTION',
        'The function of update has to return the new bag, or `unchanged` to leave the entity as it is; it returned nothing.',
      )
    }
    const { id: own, properties } = copyChanged(changed)
    if (own !== undefined) checkOwnId(id, own)
    return properties
  }
}

function copyChanged(changed: unknown): EntityCopy {
  try {
    return copyEntity(changed)
  } catch (error) {
    // An async function's answer is no bag; that it may also fail is not to end the process.
    Promise.resolve(changed).catch(() => {})
    throw error
  }
}

/** What `delete` makes of it: a tombstone, if there is an entity. */
export function toDelete(id: Uint8Array, ifVersion: number | undefined): Decide {
  return (found) => {
    checkVersion(id, found, ifVersion)
    return isThere(found) ? null : undefined
  }
}

/** What `deleteDamaged` makes of it: a tombstone, if it is what was found then, and damaged still. */
export function toDeleteDamaged({ version, body }: DamagedEntity): Decide {
  return (found) =>
    found.damaged?.code === 'BODY_DAMAGED' &&
    found.version === version &&
    body !== null &&
    found.body !== null &&
    Buffer.compare(found.body, body) === 0
      ? null
      : undefined
}

/** The id of a bag is that of its entity, or is not there. */
function checkOwnId(id: Uint8Array, own: unknown): void {
  const entity = formatId(id)
  if (formatId(parseId(own)) === entity) return
  throw new LooseleafError('BAD_ID', `The bag given for entity ${entity} has another id.`, { entity })
}

/** True for a living entity, damaged or not. */
export function isThere({ bag, damaged }: CurrentEntity): boolean {
  return bag !== undefined || damaged !== undefined
}

function checkVersion(id: Uint8Array, found: CurrentEntity, ifVersion: number | undefined): void {
  const version = isThere(found) ? found.version : 0
  if (ifVersion === undefined || version === ifVersion) return
  const entity = formatId(id)
  throw new LooseleafError(
    'VERSION_MISMATCH',
    `Entity ${entity} is at version ${version}${version === 0 ? ' (there is none)' : ''}, not at ${ifVersion}.`,
    { entity },
  )
}
