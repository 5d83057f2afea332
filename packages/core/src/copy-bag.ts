import type { Bag } from './bag.ts'
import { copyProperties, walkBag, type OwnProperties, type Walk } from './bag-walk.ts'
import { Itself } from './itself.ts'

/** An entity as its caller gave it, taken apart. */
export interface EntityCopy {
  /** What stood under the reserved name `id`, unchecked; undefined where nothing did. */
  readonly id: unknown
  readonly properties: Bag
}

/**
 * A copy of a bag, down to its Dates and bytes: plain objects, arrays, Dates and `Uint8Array`s, without undefined properties
 * and with one NaN for all. Every value of the bag is asked for once, so what is checked, stored and indexed is the same even
 * where getters, proxies and subclasses answer otherwise each time. Values are told by what they are, so those of another
 * realm (`vm`, Jest) are as good as any. An array is what iterating over it gives, an object its own enumerable properties.
 *
 * The copy is for those who store it, not to be changed: it comes back as it is when it is given to this function again.
 *
 * Throws `BAD_PROPERTY` with the path to what no codec could give back or whose reading throws, and `BODY_TOO_LARGE` for
 * more than `MAX_VALUES` values.
 */
export function copyBag(bag: unknown): Bag {
  return isCopy(bag) ? bag : walkBag(bag, finish)
}

/** As `copyBag`, for properties that may have the entity's id among them. */
export function copyEntity(entity: unknown): EntityCopy {
  if (isCopy(entity) && entity['id'] === undefined) return { id: undefined, properties: entity }
  return walkBag(entity, (own, walk) => {
    if (own['id'] === undefined) return { id: undefined, properties: finish(own, walk) }
    const { id, ...properties } = own
    return { id, properties: finish(properties, walk) }
  })
}

/** Throws what `copyBag` throws. */
export function checkBag(bag: unknown): asserts bag is Bag {
  copyBag(bag)
}

/** Marks what `copyBag` has made. */
class Copy extends Itself {
  readonly #isCopy = true
  static is(object: object): boolean {
    return #isCopy in object && object.#isCopy
  }
}

function isCopy(bag: unknown): bag is Bag {
  return typeof bag === 'object' && bag !== null && Copy.is(bag)
}

function finish(own: OwnProperties, walk: Walk): Bag {
  const bag = copyProperties(own, walk)
  // oxlint-disable-next-line no-new -- to construct is to mark
  new Copy(bag)
  // Against a codec that adds to it what nobody would check. All of it, within too, would cost a tenth of the encoding.
  return Object.freeze(bag)
}
