import { copyEntity, parseId, type Bag, type EntityId, type Router } from '@looseleaf/core'

/** What a call was given to write. */
export interface TakenBag {
  readonly id: Uint8Array
  /** Nobody gave it an id. */
  readonly isFresh: boolean
  /** As `copyBag` has made them. */
  readonly properties: Bag
}

/** The bag as it is now, under the id that is given, or its own, or a fresh one. Throws what `copyBag` throws, and `BAD_ID`. */
export function takeBag(router: Router, bag: unknown, given: EntityId | undefined): TakenBag {
  const { id: own, properties } = copyEntity(bag)
  const named = given === undefined ? own : given
  if (named === undefined) return { id: router.newId(), isFresh: true, properties }
  return { id: parseId(named), isFresh: false, properties }
}
