import { formatId, LooseleafError, parseId, type Bag } from '@looseleaf/core'
import { requireBag } from './check-arguments.ts'
import type { Decide, Found } from './entity-writer.ts'
import type { Change } from './types.ts'

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
    const changed = change(structuredClone(found.bag))
    if (changed === undefined) return undefined
    // An async function's answer is no bag; that it may also fail is not to end the process.
    if (changed instanceof Promise) changed.catch(() => {})
    requireBag(changed)
    return withoutId(changed, id)
  }
}

/** What `delete` makes of it: a tombstone, if there is an entity. */
export function toDelete(id: Uint8Array, ifVersion: number | undefined): Decide {
  return (found) => {
    checkVersion(id, found, ifVersion)
    return isThere(found) ? null : undefined
  }
}

/** The properties to store: the id is a column, not a property. */
export function withoutId(bag: Bag, id: Uint8Array, mayDiffer = false): Bag {
  if (bag['id'] === undefined) return bag
  const { id: own, ...properties } = bag
  if (!mayDiffer && formatId(parseId(own)) !== formatId(id)) {
    throw new LooseleafError('BAD_ID', `The bag given for entity ${formatId(id)} has another id.`, {
      entity: formatId(id),
    })
  }
  return properties
}

/** True for a living entity, damaged or not. */
export function isThere({ bag, damaged }: Found): boolean {
  return bag !== undefined || damaged !== undefined
}

function checkVersion(id: Uint8Array, found: Found, ifVersion: number | undefined): void {
  const version = isThere(found) ? found.version : 0
  if (ifVersion === undefined || version === ifVersion) return
  const entity = formatId(id)
  throw new LooseleafError(
    'VERSION_MISMATCH',
    `Entity ${entity} is at version ${version}${version === 0 ? ' (there is none)' : ''}, not at ${ifVersion}.`,
    { entity },
  )
}
