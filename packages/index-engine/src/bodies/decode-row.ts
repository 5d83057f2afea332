import { formatId, LooseleafError, type Bag, type Codec } from '@looseleaf/core'
import { isUndecodable, requireVersion, type EntityRow } from '@looseleaf/core/internal'
import type { EngineContext } from '../engine-context.ts'
import { isPending } from './bodies.ts'
import type { ReadEntity } from './to-entity.ts'

/**
 * Decodes the bag of a row; undefined for a tombstone. Returns a promise if codec entries have to be loaded first. An error of the codec
 * gets the id of the entity and the shard.
 */
export function decodeBody(
  { bodies }: Pick<EngineContext, 'bodies'>,
  stored: EntityRow,
  shard: string,
): Bag | undefined | Promise<Bag> {
  try {
    requireVersion(stored.version)
    if (stored.body === null) return undefined
    const bag = bodies.decode(stored.body, shard)
    return isPending(bag) ? bag.catch((error: unknown) => fail(error, stored, shard)) : bag
  } catch (error) {
    return fail(error, stored, shard)
  }
}

/** Decodes the entity of a row; undefined for a tombstone. Throws as `decodeBody` does. */
export function decodeRow(
  context: Pick<EngineContext, 'bodies' | 'codec'>,
  stored: EntityRow,
  shard: string,
): ReadEntity | undefined | Promise<ReadEntity> {
  const { id, body, version, updated } = stored
  const decoded = decodeBody(context, stored, shard)
  if (decoded === undefined || body === null) return undefined
  const read = (bag: Bag): ReadEntity => ({
    id,
    bag,
    version,
    updated,
    bytes: bytesInHand(context.codec, body),
  })
  return isPending(decoded) ? decoded.then(read) : read(decoded)
}

/** Estimates the memory of a stored body, or of a part of one, once it is decoded. In bytes, for bounds on memory. */
export function bytesInHand(codec: Codec, body: Uint8Array): number {
  return codec.decodedBytes?.(body) ?? body.length
}

function fail(error: unknown, stored: EntityRow, shard: string): never {
  if (!isUndecodable(error)) throw error
  const id = formatId(stored.id)
  throw new LooseleafError(error.code, `Entity ${id} on shard ${shard}: ${error.message}`, {
    entity: id,
    shard,
    cause: error,
  })
}
