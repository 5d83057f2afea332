import type { Bag, EntityId } from '@looseleaf/core'
import { badOption, badArgument, isRecord } from '@looseleaf/core/internal'
import { deriveId } from '@looseleaf/router'
import type { KeyPart } from '@looseleaf/router/internal'
import type { DataStore } from '@looseleaf/store'
import type { KindNear } from './near.ts'
import type { Shape } from './shape.ts'

/** The calls of a collection that make ids. Untyped: `Collection` adds the types. */
export interface UntypedIds {
  newId(of?: object): EntityId
  deriveId(key: KeyPart | readonly KeyPart[], of?: object): EntityId
}

export function createIds(store: DataStore, { name, names }: Shape, near: KindNear | undefined): UntypedIds {
  function newId(call: string, of: object | undefined): EntityId {
    if (near === undefined) return store.newId()
    if (!isRecord(of))
      throw badArgument(
        call,
        `an object with the property ${near.path}, near which the kind ${name} is placed`,
        of,
      )
    return store.newId({ near: near.placeOf(of as Bag) })
  }

  return {
    newId: (of) => newId('newId', of),
    deriveId(key, of) {
      const [, ...formerly] = names
      if (formerly.length > 0) {
        throw badOption(
          `The kind ${name} was renamed, so its ids may be derived from a former name. Call deriveId of looseleaf with the name that they are derived from, and { near: collection.newId(…) }.`,
        )
      }
      return deriveId(name, key, near === undefined ? {} : { near: newId('deriveId', of) })
    },
  }
}
