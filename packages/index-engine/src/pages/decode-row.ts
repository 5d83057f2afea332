import { formatId, isLooseleafError, LooseleafError, type Bag, type Codec } from '@looseleaf/core'
import { requireVersion, type EntityRow } from '@looseleaf/core/internal'
import type { ReadEntity } from './to-entity.ts'

/** Decodes the bag of a row; undefined for a tombstone. Throws the codec's error with the id of the entity and the shard. */
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

/** Decodes the entity of a row; undefined for a tombstone. Throws as `decodeBody` does. */
export function decodeRow(codec: Codec, stored: EntityRow, shard: string): ReadEntity | undefined {
  const { id, body, version, updated } = stored
  const bag = decodeBody(codec, stored, shard)
  if (bag === undefined || body === null) return undefined
  return { id, bag, version, updated, bytes: bytesInHand(codec, body) }
}

/** Estimates the memory of a stored body, or of a part of one, once it is decoded. In bytes, for bounds on memory. */
export function bytesInHand(codec: Codec, body: Uint8Array): number {
  return codec.decodedBytes?.(body) ?? body.length
}
