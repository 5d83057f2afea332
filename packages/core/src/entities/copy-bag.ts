import type { Bag } from './bag.ts'
import { copyProperties, walkBag, type OwnProperties, type Walk } from './bag-walk.ts'
import { Itself } from './itself.ts'

/** A copied entity, with its id apart from its properties. */
export interface EntityCopy {
  /** Value of the reserved property `id`, unchecked; undefined if there was none. */
  readonly id: unknown
  readonly properties: Bag
}

/**
 * Copies and checks a bag, down to its Dates and bytes. The copy consists of plain objects, arrays, Dates and `Uint8Array`s,
 * without undefined properties and with one NaN for all. Every value of the bag is read once, so getters, proxies and
 * subclasses cannot change what was checked before it is stored and indexed. Values of other realms (`vm`, Jest) are
 * recognized. An array is copied by iteration, an object by its own enumerable properties.
 *
 * Do not change the copy: `copyBag` returns it as it is when it is given to it again.
 *
 * Throws `BAD_PROPERTY` with the path to a value that no codec can restore or whose reading throws, and `BODY_TOO_LARGE`
 * for more than `MAX_VALUES` values.
 */
export function copyBag(bag: unknown): Bag {
  return isCopy(bag) ? bag : walkBag(bag, finish)
}

/** Like `copyBag`, for properties that may include the entity's id. */
export function copyEntity(entity: unknown): EntityCopy {
  if (isCopy(entity) && entity['id'] === undefined) return { id: undefined, properties: entity }
  return walkBag(entity, (copied, walk) => {
    if (copied['id'] === undefined) return { id: undefined, properties: finish(copied, walk) }
    const { id, ...properties } = copied
    return { id, properties: finish(properties, walk) }
  })
}

/** Throws the errors of `copyBag`. */
export function checkBag(bag: unknown): asserts bag is Bag {
  copyBag(bag)
}

class Copy extends Itself {
  readonly #isCopy = true
  static is(object: object): boolean {
    return #isCopy in object && object.#isCopy
  }
}

function isCopy(bag: unknown): bag is Bag {
  return typeof bag === 'object' && bag !== null && Copy.is(bag)
}

function finish(copied: OwnProperties, walk: Walk): Bag {
  const bag = copyProperties(copied, walk)
  // oxlint-disable-next-line no-new -- the constructor marks the bag
  new Copy(bag)
  // A codec could otherwise add unchecked properties. Freezing nested objects too would cost a tenth of the encoding.
  return Object.freeze(bag)
}
