import { parseId, type Bag, type Router } from '@looseleaf/core'
import { badOption, copyEntity } from '@looseleaf/core/internal'
import { placeOfNear, type Near } from '@looseleaf/index-engine/internal'
import type { InsertOptions } from '../types.ts'

/** A copy of the bag that a call was given, under its id. */
export interface TakenBag {
  readonly id: Uint8Array
  /** True if the id was made for this call. */
  readonly isFresh: boolean
  /** The copy that `copyBag` has made. */
  readonly properties: Bag
}

/**
 * Copies a bag. Its id is the one given, or the one in the bag, or a fresh one, made near `near`. Throws the errors of `copyBag`, `BAD_ID`,
 * and `BAD_OPTION` for a `near` beside an id.
 */
export function takeBag(
  router: Router,
  bag: unknown,
  { id: given, near }: Pick<InsertOptions, 'id' | 'near'>,
): TakenBag {
  const { id: bagId, properties } = copyEntity(bag)
  const id = given === undefined ? bagId : given
  if (id === undefined) return { id: freshId(router, near), isFresh: true, properties }
  if (near !== undefined) {
    throw badOption(
      'The option near is for a fresh id, and this entity was given an id, which has its place already. Leave out one of both.',
    )
  }
  return { id: parseId(id), isFresh: false, properties }
}

/** Makes an id, near an id or a key if one is given. Throws `BAD_ID`, and `BAD_OPTION` for a key if the router makes no ids near keys. */
export function freshId(router: Router, near: Near | undefined): Uint8Array {
  if (near === undefined) return router.newId()
  return placeOfNear(near, {
    ofId: (id) => router.newId(id),
    ofKey(key) {
      if (router.newIdNearKey !== undefined) return router.newIdNearKey(key)
      throw badOption(
        'The router of this store has no newIdNearKey, so it makes ids near other ids alone, not near keys.',
      )
    },
  })
}
