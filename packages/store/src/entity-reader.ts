import {
  formatId,
  isLooseleafError,
  LooseleafError,
  requireVersion,
  type Bag,
  type CallOptions,
  type Codec,
  type EntityRow,
  type Router,
} from '@looseleaf/core'
import type { ReadEntity } from '@looseleaf/index-engine'
import type { ShardLanes } from './shard-lanes.ts'

/** Reads entities by id, each from its shard through that shard's lane. */
export interface EntityReader {
  /** The row as it is stored, a tombstone too. */
  row(id: Uint8Array, options?: CallOptions): Promise<EntityRow | undefined>
  /** Living entities, in the order asked. */
  read(ids: readonly Uint8Array[], options?: CallOptions): Promise<(ReadEntity | undefined)[]>
  /** The bag of a row; undefined for a tombstone. Throws what is wrong with it, naming the entity. */
  decode(row: EntityRow, shard: string): Bag | undefined
}

export function createEntityReader(router: Router, codec: Codec, lanes: readonly ShardLanes[]): EntityReader {
  const laneOf = (id: Uint8Array): ShardLanes => lanes[router.shardOfId(id)] as ShardLanes

  /** The places of a list of ids, by the lane that reads them: one wait for a lane instead of one for an id. */
  function placesByLane(ids: readonly Uint8Array[]): Map<ShardLanes, number[]> {
    const places = new Map<ShardLanes, number[]>()
    for (const [place, id] of ids.entries()) {
      const lane = laneOf(id)
      const group = places.get(lane)
      if (group === undefined) places.set(lane, [place])
      else group.push(place)
    }
    return places
  }

  function decode(row: EntityRow, shard: string): Bag | undefined {
    try {
      requireVersion(row.version)
      return row.body === null ? undefined : codec.decode(row.body)
    } catch (error) {
      if (!isLooseleafError(error)) throw error
      const entity = formatId(row.id)
      throw new LooseleafError(error.code, `Entity ${entity} on shard ${shard}: ${error.message}`, {
        entity,
        shard,
        cause: error,
      })
    }
  }

  const row: EntityReader['row'] = (id, options) => laneOf(id).read.submit(id, options?.signal)

  return {
    row,
    decode,
    async read(ids, options) {
      const entities: (ReadEntity | undefined)[] = Array.from({ length: ids.length })
      await Promise.all(
        Array.from(placesByLane(ids), async ([lane, places]) => {
          const rows = await lane.read.submitAll(
            places.map((place) => ids[place] as Uint8Array),
            options?.signal,
          )
          for (const [i, found] of rows.entries()) {
            const bag = found && decode(found, lane.shard)
            if (found && bag) {
              entities[places[i] as number] = {
                id: found.id,
                bag,
                version: found.version,
                updated: found.updated,
              }
            }
          }
        }),
      )
      return entities
    },
  }
}
