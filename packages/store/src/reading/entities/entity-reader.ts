import type { Bag, CallOptions, Entity, LooseleafError } from '@looseleaf/core'
import { isOutage, isUndecodable, type BoundedRow, type EntityRow } from '@looseleaf/core/internal'
import {
  decodeBody,
  decodeRow,
  isPending,
  toEntity,
  type EngineContext,
  type ReadEntity,
  type TakeGroup,
} from '@looseleaf/index-engine/internal'
import { beforeAsking } from '@looseleaf/protocol/internal'
import type { ShardLanes } from '../../calls/shard-lanes.ts'
import { OwnerChanged } from '../owners/owner-changed.ts'

export interface ReadOptions extends CallOptions {
  /** Called with the error of a body that cannot be decoded. The entity is then left out. Default: the error is thrown. */
  readonly handleDamaged?: ((error: LooseleafError) => void) | undefined
  /**
   * Called with the error of a read of these ids from the shard with this name. The read then leaves them out, unless the function throws the
   * error. Default: the error is thrown.
   */
  readonly leaveOut?: ((error: unknown, shard: string, ids: readonly Uint8Array[]) => void) | undefined
}

/** Reads entities by id through the lanes of their shards. */
export interface EntityReader {
  row(id: Uint8Array, options?: CallOptions): Promise<EntityRow | undefined>
  /** Returns true if there is an entity that is no tombstone. */
  exists(id: Uint8Array, options?: CallOptions): Promise<boolean>
  /** Reads a living entity, as callers get it. */
  get(id: Uint8Array, options?: CallOptions): Promise<Entity | undefined>
  /** Reads living entities in the order of `ids`, as callers get them; undefined for an id without one. */
  getMany(ids: readonly Uint8Array[], options: ReadOptions): Promise<(Entity | undefined)[]>
  /**
   * Hands over living entities in the order of `ids`, in groups of some MiB, until `take` returns false. Holds little more than one
   * group in memory. `known` has the rows of entities that were read already, and null for an id without one; undefined for an id to read.
   */
  each(
    ids: readonly Uint8Array[],
    options: ReadOptions,
    take: TakeGroup,
    known?: readonly KnownRow[],
  ): Promise<void>
  /** Reads the versions of entities and tombstones in the order of `ids`; undefined for an id without either. */
  versions(
    ids: readonly Uint8Array[],
    options?: Omit<ReadOptions, 'handleDamaged'>,
  ): Promise<readonly (number | undefined)[]>
  /** Decodes the bag of a row; undefined for a tombstone. See `decodeBody`. */
  decode(row: EntityRow, shard: string): Bag | undefined | Promise<Bag>
  /** Decodes the entity of a row; undefined for a tombstone. */
  entity(row: EntityRow, shard: string, options?: ReadOptions): Promise<ReadEntity | undefined>
}

type KnownRow = BoundedRow | null | undefined

const IDS_AT_ONCE = 1024
/** Bytes of one group, stored and decoded bodies together. A larger entity is a group of its own. */
const GROUP_BYTES = 8 * 1024 * 1024

/**
 * Makes a reader, which finds the shard of an id by the catalog of the moment, and asks again where the owner has changed meanwhile.
 * `lanes` returns the lanes of the shard with this number.
 */
export function createEntityReader(
  context: EngineContext,
  lanes: (shard: number) => ShardLanes,
): EntityReader {
  const laneOf = (id: Uint8Array): ShardLanes => lanes(context.catalog.current().placement.shardOfId(id))

  /**
   * Returns when the entities may be asked again, at the shards of the present catalog; see `beforeAsking`. Rethrows any error but
   * `OwnerChanged`.
   */
  async function beforeRetry(
    error: unknown,
    ids: readonly Uint8Array[],
    tries: number,
    options: CallOptions,
  ): Promise<void> {
    if (!(error instanceof OwnerChanged)) throw error
    await beforeAsking(context, ids, tries, options)
  }

  /** Reads a row whose long body was left out. */
  function whole(
    { readLong: lane }: ShardLanes,
    { id, bodyBytes: bytes }: BoundedRow,
    signal: AbortSignal | undefined,
  ): Promise<EntityRow | undefined> {
    return lane.submit({ id, bytes }, signal)
  }

  /** Decodes the entity of a row. Returns a promise only if codec entries have to be loaded. */
  function decodeEntity(
    found: EntityRow,
    shard: string,
    { handleDamaged, leaveOut }: ReadOptions,
  ): ReadEntity | undefined | Promise<ReadEntity | undefined> {
    const handle = (error: unknown): undefined => {
      // A codec entry of the body is on a shard that does not answer.
      if (leaveOut !== undefined && isOutage(error)) {
        leaveOut(error, error.shard ?? shard, [found.id])
        return undefined
      }
      if (handleDamaged === undefined || !isUndecodable(error)) throw error
      handleDamaged(error)
      return undefined
    }
    try {
      const read = decodeRow(context, found, shard)
      return isPending(read) ? read.catch(handle) : read
    } catch (error) {
      return handle(error)
    }
  }

  /**
   * Reads something of each of these ids; undefined for an id that is left out. Submits the ids of a lane together, which makes one promise
   * instead of one per id. Sets `lanesOfIds` to the lanes that answered.
   */
  async function ask<T>(
    ids: readonly Uint8Array[],
    lanesOfIds: ShardLanes[],
    send: (lanes: ShardLanes, ids: readonly Uint8Array[]) => Promise<readonly T[]>,
    options: Omit<ReadOptions, 'handleDamaged'>,
    tries = 1,
  ): Promise<(T | undefined)[]> {
    const places = new Map<ShardLanes, number[]>()
    for (let i = 0; i < ids.length; i++) {
      const lane = lanesOfIds[i] as ShardLanes
      const group = places.get(lane)
      if (group === undefined) places.set(lane, [i])
      else group.push(i)
    }
    const found: (T | undefined)[] = Array.from({ length: ids.length })
    await Promise.all(
      Array.from(places, async ([lane, group]) => {
        const groupIds = group.map((place) => ids[place] as Uint8Array)
        let answers: readonly (T | undefined)[]
        try {
          answers = await send(lane, groupIds)
        } catch (error) {
          const others = groupIds.map(() => lane)
          answers = await afterFailure(error, groupIds, others, send, options, tries)
          for (let i = 0; i < group.length; i++) lanesOfIds[group[i] as number] = others[i] as ShardLanes
        }
        for (let i = 0; i < group.length; i++) found[group[i] as number] = answers[i]
      }),
    )
    return found
  }

  /** Asks the owners again after a failure, or leaves out what cannot be read. Sets `lanesOfIds` as `ask` does. */
  async function afterFailure<T>(
    reason: unknown,
    ids: readonly Uint8Array[],
    lanesOfIds: ShardLanes[],
    send: (lanes: ShardLanes, ids: readonly Uint8Array[]) => Promise<readonly T[]>,
    options: Omit<ReadOptions, 'handleDamaged'>,
    tries: number,
  ): Promise<(T | undefined)[]> {
    const { signal, leaveOut } = options
    const { shard, isCached } = lanesOfIds[0] as ShardLanes
    try {
      await beforeRetry(reason, ids, tries, { signal })
    } catch (failure) {
      if (leaveOut === undefined) throw failure
      // After a move the new owner of some of the entities does not answer, and the others may be read.
      const silentOwner = reason instanceof OwnerChanged && isOutage(failure) ? failure.shard : undefined
      // The cache has some of the entities perhaps.
      if (ids.length > 1 && isOutage(failure) && (isCached || silentOwner !== undefined))
        return Promise.all(
          ids.map(async (id, i) => {
            const lane = [laneOf(id)]
            const [found] = await ask([id], lane, send, options, tries + 1)
            lanesOfIds[i] = lane[0] as ShardLanes
            return found
          }),
        )
      leaveOut(failure, silentOwner ?? shard, ids)
      return ids.map(() => undefined)
    }
    for (let i = 0; i < ids.length; i++) lanesOfIds[i] = laneOf(ids[i] as Uint8Array)
    return ask(ids, lanesOfIds, send, options, tries + 1)
  }

  /** Asks the owner of the entity, until its answer counts. */
  async function readRow(id: Uint8Array, options: CallOptions): Promise<EntityRow | undefined> {
    for (let tries = 1; ; tries++) {
      const lane = laneOf(id)
      try {
        const row = await lane.read.submit(id, options.signal)
        return isWhole(row) ? row : await whole(lane, row, options.signal)
      } catch (error) {
        await beforeRetry(error, [id], tries, options)
      }
    }
  }

  /** Reads the long bodies of one group, starting at this place. */
  async function readLong(
    rows: AskedRow[],
    lanesOfIds: readonly ShardLanes[],
    from: number,
    { signal, leaveOut }: ReadOptions,
  ): Promise<void> {
    const readWhole = async (row: BoundedRow, lane: ShardLanes): Promise<EntityRow | undefined> => {
      try {
        return await whole(lane, row, signal)
      } catch (error) {
        await beforeRetry(error, [row.id], 1, { signal })
        return readRow(row.id, { signal })
      }
    }
    const read = async (row: BoundedRow, lane: ShardLanes): Promise<EntityRow | undefined> => {
      try {
        return await readWhole(row, lane)
      } catch (error) {
        if (leaveOut === undefined) throw error
        leaveOut(error, lane.shard, [row.id])
        return undefined
      }
    }
    const work: Promise<void>[] = []
    let bytes = 0
    for (let i = from; i < rows.length && bytes < GROUP_BYTES; i++) {
      const row = rows[i]
      if (isWhole(row)) continue
      bytes += row.bodyBytes
      work.push(read(row, lanesOfIds[i] as ShardLanes).then((found) => void (rows[i] = found)))
    }
    await Promise.all(work)
  }

  /** Asks for the rows that are not known. */
  async function askUnknown(
    ids: readonly Uint8Array[],
    lanesOfIds: ShardLanes[],
    known: readonly KnownRow[],
    options: ReadOptions,
  ): Promise<AskedRow[]> {
    const rows = rowsOf(known)
    const places = [...known.keys()].filter((place) => known[place] === undefined)
    const lanesOfPlaces = places.map((place) => lanesOfIds[place] as ShardLanes)
    const unknownIds = places.map((place) => ids[place] as Uint8Array)
    const found = await ask(unknownIds, lanesOfPlaces, sendRead(options.signal), options)
    for (const [i, place] of places.entries()) {
      rows[place] = found[i]
      lanesOfIds[place] = lanesOfPlaces[i] as ShardLanes
    }
    return rows
  }

  /** Returns true if `take` wants more. */
  async function eachOf(
    ids: readonly Uint8Array[],
    options: ReadOptions,
    take: TakeGroup,
    known: readonly KnownRow[] | undefined,
  ): Promise<boolean> {
    const { signal } = options
    const lanesOfIds = ids.map(laneOf)
    let rows: AskedRow[]
    if (known === undefined) rows = await ask(ids, lanesOfIds, sendRead(signal), options)
    else if (known.includes(undefined)) rows = await askUnknown(ids, lanesOfIds, known, options)
    else rows = rowsOf(known)
    let group: (ReadEntity | undefined)[] = []
    let bytes = 0
    for (let i = 0; i < rows.length; i++) {
      if (!isWhole(rows[i])) await readLong(rows, lanesOfIds, i, options)
      // `readLong` has replaced a bounded row by the whole one.
      const row = rows[i] as EntityRow | undefined
      const decoded = row && decodeEntity(row, (lanesOfIds[i] as ShardLanes).shard, options)
      const read = isPending(decoded) ? await decoded : decoded
      // Frees the memory of the body.
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

  async function each(
    ids: readonly Uint8Array[],
    options: ReadOptions,
    take: TakeGroup,
    known?: readonly KnownRow[],
  ): Promise<void> {
    if (ids.length <= IDS_AT_ONCE) {
      await eachOf(ids, options, take, known)
      return
    }
    for (let start = 0; start < ids.length; start += IDS_AT_ONCE) {
      const end = start + IDS_AT_ONCE
      if (!(await eachOf(ids.slice(start, end), options, take, known?.slice(start, end)))) return
    }
  }

  return {
    row: (id, options = {}) => readRow(id, options),
    async exists(id, options = {}) {
      for (let tries = 1; ; tries++) {
        try {
          return await laneOf(id).exists.submit(id, options.signal)
        } catch (error) {
          await beforeRetry(error, [id], tries, options)
        }
      }
    },
    versions: (ids, options = {}) =>
      ask(ids, ids.map(laneOf), ({ version }, of) => version.submitAll(of, options.signal), options),
    // Does not call `row`, because one more promise per call is measurable.
    async get(id, { signal } = {}) {
      for (let tries = 1; ; tries++) {
        const lane = laneOf(id)
        let found: EntityRow | undefined
        try {
          const row = await lane.read.submit(id, signal)
          found = isWhole(row) ? row : await whole(lane, row, signal)
        } catch (error) {
          await beforeRetry(error, [id], tries, { signal })
          continue
        }
        const decoded = found && decodeRow(context, found, lane.shard)
        const entity = isPending(decoded) ? await decoded : decoded
        if (entity === undefined) return undefined
        context.events.entitiesRead(1, true)
        return toEntity(entity)
      }
    },
    async getMany(ids, options) {
      const entities: (Entity | undefined)[] = []
      await each(ids, options, (group) => {
        for (const found of group) entities.push(found && toEntity(found))
        return true
      })
      context.events.entitiesRead(entities.filter((entity) => entity !== undefined).length, true)
      return entities
    },
    each,
    decode: (row, shard) => decodeBody(context, row, shard),
    entity: async (row, shard, options = {}) => decodeEntity(row, shard, options),
  }
}

/** Reads rows without long bodies. */
const sendRead =
  (signal: AbortSignal | undefined) =>
  ({ read }: ShardLanes, ids: readonly Uint8Array[]): Promise<readonly AskedRow[]> =>
    read.submitAll(ids, signal)

type AskedRow = EntityRow | BoundedRow | undefined

const rowsOf = (known: readonly KnownRow[]): AskedRow[] => known.map((row) => row ?? undefined)

function isWhole(row: AskedRow): row is EntityRow | undefined {
  return row?.body !== undefined || row === undefined
}
