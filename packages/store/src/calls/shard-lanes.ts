import type { ErrorCode, Shard } from '@looseleaf/core'
import {
  type Inlined,
  createLane,
  idKey,
  platformTime,
  type BoundedRow,
  type EntityRow,
  type IndexRow,
  type IndexTableSpec,
  type Lane,
  type LaneOptions,
  type LocalRows,
} from '@looseleaf/core/internal'
import type { Commit } from '@looseleaf/protocol/internal'
import type { Observing } from '../observing/observing.ts'
import { createAnswerWait, type AnswerWait } from './answer-wait.ts'
import { createIndexLanes, type IndexLanes } from './index-lanes.ts'
import { ENOUGH_ROWS, MAX_READ_BYTES, MAX_READ_ROWS, ROW_BYTES } from './lane-limits.ts'

/** The lanes of one shard: one per table and kind of statement. */
export interface ShardLanes {
  /** The shard's name. */
  readonly shard: string
  /** Bounds the waits for the server of these lanes, for reads that leave it out while it is silent. */
  readonly answers: AnswerWait
  /** True if its read lane answers from a cache what it can, so that some ids may be answered while the shard is silent. */
  readonly isCached?: boolean
  /** Reads entities. Leaves out long bodies, which `readLong` reads. */
  readonly read: Lane<Uint8Array, EntityRow | BoundedRow | undefined>
  readonly readLong: Lane<LongBody, EntityRow | undefined>
  /** Reads the version of an entity or tombstone; undefined if there is neither. */
  readonly version: Lane<Uint8Array, number | undefined>
  /** Tells whether there is an entity that is no tombstone. */
  readonly exists: Lane<Uint8Array, boolean>
  readonly insert: Lane<Commit, void>
  readonly replace: Lane<Commit, boolean>
  /** Tells whether this shard has pending rows of an index table. */
  readonly pending: Lane<string, boolean>
  index(spec: IndexTableSpec): IndexLanes
  /** Returns the numbers of each lane that has been used. */
  stats(): readonly LaneStats[]
  /** Returns the lane that takes keys of a table of claims; see `ClaimTable.take`. */
  claims(spec: IndexTableSpec): Lane<IndexRow, IndexRow | undefined>
}

export type LanesOf = (shard: number) => ShardLanes

export type LaneStats = Inlined<{
  /** `entities`, or the table of an index or of its claims. */
  readonly table: string
  /** Kind of statement, such as `read`, `insert` or `scan`. */
  readonly kind: string
  readonly statements: number
  /** Rows, ids or scans sent by these statements. */
  readonly items: number
  /** Items that wait to be sent. */
  readonly waiting: number
}>

/** An entity whose long body was left out of an answer. */
export interface LongBody {
  readonly id: Uint8Array
  readonly bytes: number
}

/** Rows per statement: enough to share the round trip and the flush, few enough to answer soon. */
const MAX_BATCH = 256
/** Bytes of bodies per statement. Far below any packet limit, even as the text of a statement, which doubles them. */
const MAX_BYTES = 2 * 1024 * 1024
/** Items in the queue of a lane. Further calls wait for room. */
const MAX_QUEUE = 20_000
/** Turns of the event loop that a statement under load waits for more calls. A third turn gains nothing. */
const GATHER_TURNS = 2

export type MakeLane = <Item, Result>(
  table: string,
  kind: string,
  options: Pick<LaneOptions<Item, Result>, 'run'> & Partial<LaneOptions<Item, Result>>,
) => Lane<Item, Result>

/** Checks the answers of one server. */
export interface OwnerCheck {
  /**
   * Sends a statement for these ids, and returns its answers if the server had their entities then. Usually no other statement is sent for
   * it. Throws `OwnerChanged` for a primary, and `SHARD_UNAVAILABLE` for a replica.
   */
  ask<Answers>(
    ids: readonly Uint8Array[],
    send: (ids: readonly Uint8Array[]) => Promise<Answers>,
  ): Promise<Answers>
  /**
   * Sends a statement whose answer tells the ids. Resolves with the answer, and tells for each id whether the server had its entity then.
   * Never throws because of owners.
   */
  askFound<Answer>(send: () => Promise<Answer>): Promise<FoundAnswer<Answer>>
  /** Tells whether an entity is on this shard by the catalog of the moment. Not for conclusions from answers. */
  isHere(id: Uint8Array): boolean
  /** True if the store had one shard when the check was made. */
  readonly isAlone: boolean
}

export interface FoundAnswer<Answer> {
  readonly answer: Answer
  isOwned(id: Uint8Array): boolean
  /** True if every entity that the server has was its own then. */
  readonly ownsAll: boolean
}

/** The check of a shard that owns every entity for ever. */
export const NO_CHECK: OwnerCheck = {
  ask: (ids, send) => send(ids),
  askFound: async (send) => ({ answer: await send(), isOwned: () => true, ownsAll: true }),
  isHere: () => true,
  isAlone: true,
}

/**
 * Makes the lanes of a shard. `observing` attributes statements to calls, for traces and observers. Each read of entities goes through
 * `owners`.
 */
export function createShardLanes(
  shard: Shard,
  observing?: Pick<Observing, 'workFor' | 'happened' | 'detached'>,
  owners: OwnerCheck = NO_CHECK,
): ShardLanes {
  const byTable = new Map<string, IndexLanes>()
  const takes = new Map<string, Lane<IndexRow, IndexRow | undefined>>()
  const made: { readonly table: string; readonly kind: string; readonly lane: Lane<never, unknown> }[] = []
  const entityWrite = {
    maxBytes: MAX_BYTES,
    keyOf: (row: { id: Uint8Array }) => idKey(row.id),
    // Local and pending rows need a transaction. The others go without one. A table that fails local rows must not fail the write of an
    // entity whose rows were deferred because of that table.
    groupOf({ epoch, deferred, local }: Commit) {
      if (local !== undefined) return `local ${epoch}`
      return (deferred?.length ?? 0) === 0 ? epoch : `deferred ${epoch}`
    },
    bytesOf: ({ body, local }: Commit) => (body?.length ?? 0) + (local === undefined ? 0 : localBytes(local)),
  }

  const lane: MakeLane = (table, kind, options) => {
    const name = `${shard.name} ${table} ${kind}`
    const limits = {
      maxBatch: MAX_BATCH,
      maxQueue: MAX_QUEUE,
      gather,
      workFor: observing?.workFor,
      onHalved: (code: ErrorCode, items: number) =>
        observing?.happened({ kind: 'halved', code, items, shard: shard.name }),
    }
    const created = createLane({ ...limits, name, ...options })
    made.push({ table, kind, lane: created })
    return created
  }

  const { entities } = shard
  const readWithoutLong = (
    ids: readonly Uint8Array[],
  ): Promise<readonly (EntityRow | BoundedRow | undefined)[]> =>
    ids.length === 1 ? entities.read(ids) : entities.readBounded(ids, Math.floor(MAX_READ_BYTES / ids.length))

  return {
    shard: shard.name,
    answers: createAnswerWait(shard, observing?.detached ?? ((work) => work())),
    read: lane('entities', 'read', {
      maxBatch: MAX_READ_ROWS,
      enoughRows: ENOUGH_ROWS,
      run: (ids: readonly Uint8Array[]) => owners.ask(ids, readWithoutLong),
    }),
    readLong: lane('entities', 'read long', {
      maxBytes: MAX_READ_BYTES,
      bytesOf: ({ bytes }) => bytes,
      run(bodies: readonly LongBody[]) {
        const ids = bodies.map(({ id }) => id)
        return owners.ask(ids, (asked) => entities.read(asked))
      },
    }),
    version: lane('entities', 'versions', {
      maxBatch: MAX_READ_ROWS,
      enoughRows: ENOUGH_ROWS,
      run: (ids: readonly Uint8Array[]) => owners.ask(ids, (asked) => entities.readVersions(asked)),
    }),
    exists: lane('entities', 'exist', {
      enoughRows: ENOUGH_ROWS,
      run: (ids: readonly Uint8Array[]) => owners.ask(ids, (asked) => entities.exist(asked)),
    }),
    insert: lane('entities', 'insert', {
      ...entityWrite,
      run: async (rows: readonly Commit[]) => {
        await entities.insert(rows, { epoch: epochOf(rows) })
        return rows.map(() => undefined)
      },
    }),
    replace: lane('entities', 'replace', {
      ...entityWrite,
      run: (rows: readonly Commit[]) => entities.replace(rows, { epoch: epochOf(rows) }),
    }),
    pending: lane('pending', 'tables', {
      run: async (tables: readonly string[]) => {
        const pendingTables = new Set(await shard.pending.tables())
        return tables.map((table) => pendingTables.has(table))
      },
    }),
    index(spec) {
      let lanes = byTable.get(spec.table)
      if (lanes === undefined) {
        lanes = createIndexLanes(shard.index(spec), spec, lane, owners)
        byTable.set(spec.table, lanes)
      }
      return lanes
    },
    claims(spec) {
      let take = takes.get(spec.table)
      if (take === undefined) {
        const table = shard.claims(spec)
        take = lane(spec.table, 'take', {
          run: (rows: readonly IndexRow[]) => table.take(rows),
        })
        takes.set(spec.table, take)
      }
      return take
    },
    stats: () =>
      made
        .filter(({ lane: { statements, waiting } }) => statements > 0 || waiting > 0)
        .map(({ table, kind, lane: { statements, items, waiting } }) => ({
          table,
          kind,
          statements,
          items,
          waiting,
        })),
  }
}

/**
 * Waits for calls that are about to arrive. Callers that one statement has answered call again within two turns of the event loop, but
 * not all in the same turn. With 64 callers the wait saves a quarter to two fifths of the statements.
 */
async function gather(): Promise<void> {
  for (let turn = 0; turn < GATHER_TURNS; turn++)
    await new Promise<void>((resolve) => platformTime.setImmediate(resolve))
}

/** Estimates the bytes of local rows, which count like those of bodies. */
function localBytes({ claims = [], upsert = [], remove = [] }: LocalRows): number {
  let bytes = 0
  for (const { rows } of [...claims, ...upsert, ...remove]) bytes += rows.length * ROW_BYTES
  for (const { spec, rows } of upsert)
    if (spec.covering) for (const { included } of rows) bytes += included?.length ?? 0
  return bytes
}

function epochOf(rows: readonly { readonly epoch: number }[]): number {
  // Lanes group rows by epoch, so all rows have the epoch of the first.
  return rows[0]?.epoch ?? 0
}
