import {
  formatId,
  isLooseleafError,
  LooseleafError,
  requireVersion,
  type Bag,
  type Codec,
  type EntityRow,
} from '@looseleaf/core'
import type { ReadEntity } from './to-entity.ts'

/** The bag of a row; undefined for a tombstone. Throws what is wrong with it, naming the entity. */
export function decodeBody(codec: Codec, stored: EntityRow, shard: string): Bag | undefined {
  try {
    requireVersion(stored.version)
    return stored.body === null ? undefined : codec.decode(stored.body)
  } catch (error) {
    if (!isLooseleafError(error)) throw error
    const id = formatId(stored.id)
    throw new LooseleafError(error.code, `Entity ${id} on shard ${shard}: ${error.message}`, {
      entity: id,
      shard,
      cause: error,
    })
  }
}

/** The entity of a row; as `decodeBody`. */
export function decodeRow(codec: Codec, stored: EntityRow, shard: string): ReadEntity | undefined {
  const { id, body, version, updated } = stored
  const bag = decodeBody(codec, stored, shard)
  if (bag === undefined || body === null) return undefined
  return { id, bag, version, updated, bytes: bytesInHand(codec, body) }
}

/** What a stored body, or a part of one, takes in memory once it is decoded, for bounds. */
export function bytesInHand(codec: Codec, body: Uint8Array): number {
  return codec.decodedBytes?.(body) ?? body.length
}
