import {
  isLooseleafError,
  type LooseleafError,
  type Bag,
  type BoundedRow,
  type CallOptions,
  type Codec,
  type EntityRow,
  type Router,
} from '@looseleaf/core'
import { decodeBody, decodeRow, type ReadEntity, type TakeGroup } from '@looseleaf/index-engine'
import type { ShardLanes } from '../calls/shard-lanes.ts'

export interface ReadOptions extends CallOptions {
  /** Gets the error of a body that cannot be decoded; the entity is then read as one that is not there. Default: it is thrown. */
  readonly tellDamaged?: ((error: LooseleafError) => void) | undefined
}

/** Reads entities by id, each from its shard through that shard's lane. */
export interface EntityReader {
  /** The row as it is stored, a tombstone too. */
  row(id: Uint8Array, options?: CallOptions): Promise<EntityRow | undefined>
  /** Whether it is there and not a tombstone. */
  exists(id: Uint8Array, options?: CallOptions): Promise<boolean>
  /** A living entity. */
  one(id: Uint8Array, options?: CallOptions): Promise<ReadEntity | undefined>
  /**
   * Hands over living entities in the order asked, in groups of some MiB, until `take` has enough; hardly more than a group
   * is in hand.
   */
  each(ids: readonly Uint8Array[], options: ReadOptions, take: TakeGroup): Promise<void>
  /** The bag of a row; undefined for a tombstone. Throws what is wrong with it, naming the entity. */
  decode(row: EntityRow, shard: string): Bag | undefined
  /** The entity of a row. */
  entity(row: EntityRow, shard: string, options?: ReadOptions): ReadEntity | undefined
}

/** Ids that are asked for together. */
const IDS_AT_ONCE = 1024
/** Bytes of one group, as stored and as decoded, or one entity. */
const GROUP_BYTES = 8 * 1024 * 1024

/** `lanes`: those of the shard of a number. */
export function createEntityReader(
  router: Router,
  codec: Codec,
  lanes: (shard: number) => ShardLanes,
): EntityReader {
  const laneOf = (id: Uint8Array): ShardLanes => lanes(router.shardOfId(id))

  /** The row whose body was left out. */
  function whole(
    { readLong: lane }: ShardLanes,
    { id, bodyBytes: bytes }: BoundedRow,
    signal: AbortSignal | undefined,
  ): Promise<EntityRow | undefined> {
    return lane.submit({ id, bytes }, signal)
  }

  function entity(
    found: EntityRow,
    shard: string,
    { tellDamaged }: ReadOptions = {},
  ): ReadEntity | undefined {
    try {
      return decodeRow(codec, found, shard)
    } catch (error) {
      if (tellDamaged === undefined || !isLooseleafError(error)) throw error
      tellDamaged(error)
      return undefined
    }
  }

  /** Asks for the rows of these ids, without long bodies: one wait for a lane instead of one for an id. */
  async function ask(
    ids: readonly Uint8Array[],
    lanesOfIds: readonly ShardLanes[],
    signal: AbortSignal | undefined,
  ): Promise<AskedRow[]> {
    const places = new Map<ShardLanes, number[]>()
    for (let i = 0; i < ids.length; i++) {
      const lane = lanesOfIds[i] as ShardLanes
      const group = places.get(lane)
      if (group === undefined) places.set(lane, [i])
      else group.push(i)
    }
    const rows: AskedRow[] = Array.from({ length: ids.length })
    await Promise.all(
      Array.from(places, async ([lane, group]) => {
        const found = await lane.read.submitAll(
          group.map((place) => ids[place] as Uint8Array),
          signal,
        )
        for (let i = 0; i < group.length; i++) rows[group[i] as number] = found[i]
      }),
    )
    return rows
  }

  /** Reads the long bodies from this place on, as many as make a group. */
  async function readLong(
    rows: AskedRow[],
    lanesOfIds: readonly ShardLanes[],
    from: number,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const work: Promise<void>[] = []
    let bytes = 0
    for (let i = from; i < rows.length && bytes < GROUP_BYTES; i++) {
      const row = rows[i]
      if (isWhole(row)) continue
      bytes += row.bodyBytes
      work.push(whole(lanesOfIds[i] as ShardLanes, row, signal).then((found) => void (rows[i] = found)))
    }
    await Promise.all(work)
  }

  /** Answers whether more is wanted. */
  async function eachOf(ids: readonly Uint8Array[], options: ReadOptions, take: TakeGroup): Promise<boolean> {
    const lanesOfIds = ids.map(laneOf)
    const rows = await ask(ids, lanesOfIds, options.signal)
    let group: (ReadEntity | undefined)[] = []
    let bytes = 0
    for (let i = 0; i < rows.length; i++) {
      if (!isWhole(rows[i])) await readLong(rows, lanesOfIds, i, options.signal)
      // Read as a whole by now.
      const row = rows[i] as EntityRow | undefined
      const read = row && entity(row, (lanesOfIds[i] as ShardLanes).shard, options)
      // Its body is done with.
      rows[i] = undefined
      group.push(read)
      bytes += read?.bytes ?? 0
      if (bytes < GROUP_BYTES) continue
      if (!take(group)) return false
      group = []
      bytes = 0
    }
    return group.length === 0 || take(group)
  }

  return {
    async row(id, { signal } = {}) {
      const lane = laneOf(id)
      const row = await lane.read.submit(id, signal)
      return isWhole(row) ? row : whole(lane, row, signal)
    },
    exists: (id, { signal } = {}) => laneOf(id).exists.submit(id, signal),
    // Not by `row`: a promise more for each call would show.
    async one(id, { signal } = {}) {
      const lane = laneOf(id)
      const row = await lane.read.submit(id, signal)
      const found = isWhole(row) ? row : await whole(lane, row, signal)
      return found && entity(found, lane.shard)
    },
    async each(ids, options, take) {
      if (ids.length <= IDS_AT_ONCE) {
        await eachOf(ids, options, take)
        return
      }
      for (let start = 0; start < ids.length; start += IDS_AT_ONCE)
        if (!(await eachOf(ids.slice(start, start + IDS_AT_ONCE), options, take))) return
    },
    decode: (row, shard) => decodeBody(codec, row, shard),
    entity,
  }
}

type AskedRow = EntityRow | BoundedRow | undefined

function isWhole(row: AskedRow): row is EntityRow | undefined {
  return row?.body !== undefined || row === undefined
}
