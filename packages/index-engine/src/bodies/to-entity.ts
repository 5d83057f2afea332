import { formatId, type Bag, type Entity, type EntityId } from '@looseleaf/core'
import { setMeta, type Key } from '@looseleaf/core/internal'

export interface ReadEntity {
  /** 16 bytes. */
  readonly id: Uint8Array
  readonly bag: Bag
  /** The key of its row, if the row alone decides the place; undefined if the place follows from the bag. */
  readonly key?: Key | undefined
  readonly version: number
  /** Microseconds since 1970 by the database's clock; undefined if the entity comes from an index row. */
  readonly updated: number | undefined
  /** Size of its body in memory, see `Codec.decodedBytes`. */
  readonly bytes: number
}

/** Makes the entity that callers get: the id and the properties. Version and time are set for `metaOf` if `updated` is known. */
export function toEntity(read: ReadEntity): Entity {
  const id = formatId(read.id)
  // The id comes first in print. It is assigned again, because the bag may have a property `id`.
  const entity: { id: EntityId } & Bag = { id, ...read.bag }
  entity.id = id
  if (read.updated !== undefined) {
    setMeta(entity, read.version, Math.floor(read.updated / 1000))
  }
  return entity
}
