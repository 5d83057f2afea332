import { parseId, type Bag, type EntityId, type Router } from '@looseleaf/core'
import { copyEntity } from '@looseleaf/core/internal'

/** A copy of the bag that a call was given, under its id. */
export interface TakenBag {
  readonly id: Uint8Array
  /** True if the id was made for this call. */
  readonly isFresh: boolean
  /** The copy that `copyBag` has made. */
  readonly properties: Bag
}

/** Copies a bag. Its id is the one given, or the one in the bag, or a fresh one. Throws the errors of `copyBag`, and `BAD_ID`. */
export function takeBag(router: Router, bag: unknown, given: EntityId | undefined): TakenBag {
  const { id: bagId, properties } = copyEntity(bag)
  const id = given === undefined ? bagId : given
  if (id === undefined) return { id: router.newId(), isFresh: true, properties }
  return { id: parseId(id), isFresh: false, properties }
}
