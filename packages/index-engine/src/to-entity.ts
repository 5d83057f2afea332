import { formatId, setMeta, type Bag, type Entity, type EntityId, type Key } from '@looseleaf/core'

/** An entity as a store has read and decoded it. */
export interface ReadEntity {
  /** 16 bytes. */
  readonly id: Uint8Array
  readonly bag: Bag
  /** Where it stands, as its row says, where that is believed; undefined where its bag has to tell. */
  readonly key?: Key | undefined
  readonly version: number
  /** Microseconds since 1970 by the database's clock; undefined for what an index row says of an entity. */
  readonly updated: number | undefined
  /** How much its body stands for, see `Codec.decodedBytes`. */
  readonly bytes: number
}

/** What people get: the properties beside the id, and version and time for `metaOf` where they are known. */
export function toEntity(read: ReadEntity): Entity {
  const id = formatId(read.id)
  // It comes first for whoever prints it, and no stored property can stand in its place.
  const entity: { id: EntityId } & Bag = { id, ...read.bag }
  entity.id = id
  if (read.updated !== undefined) {
    setMeta(entity, read.version, Math.floor(read.updated / 1000))
  }
  return entity
}
