import { formatId, setMeta, type Bag, type Entity } from '@looseleaf/core'

/** An entity as a store has read and decoded it. */
export interface ReadEntity {
  /** 16 bytes. */
  readonly id: Uint8Array
  readonly bag: Bag
  readonly version: number
  /** Microseconds since 1970 by the database's clock; undefined for what an index row says of an entity. */
  readonly updated: number | undefined
  /** How much its body stands for, see `Codec.decodedBytes`. */
  readonly bytes: number
}

/** What people get: the properties beside the id, and version and time for `metaOf` where they are known. */
export function toEntity(read: ReadEntity): Entity {
  const id = formatId(read.id)
  // The id comes first for whoever prints it, and last so that no stored property can stand in its place.
  const entity: Entity = Object.assign({ id }, read.bag, { id })
  if (read.updated !== undefined) {
    setMeta(entity, { version: read.version, updated: new Date(Math.floor(read.updated / 1000)) })
  }
  return entity
}
