import {
  type ErrorCode,
  createLane,
  idKey,
  type BoundedRow,
  type EntityRow,
  type IndexRow,
  type IndexRowRemoval,
  type IndexScan,
  type IndexTable,
  type IndexTableSpec,
  type Lane,
  type LaneOptions,
  type Shard,
  platformTime,
} from '@looseleaf/core'
import type { Commit } from '@looseleaf/protocol'
import type { Observing } from '../observing/observing.ts'

/** The lanes of one shard: a lane per table and kind of statement. */
export interface ShardLanes {
  /** The shard's name. */
  readonly shard: string
  /** Without the body where it is a long one; that one comes through `readLong`. */
  readonly read: Lane<Uint8Array, EntityRow | BoundedRow | undefined>
  readonly readLong: Lane<LongBody, EntityRow | undefined>
  /** Only its version; undefined where there is nothing. */
  readonly version: Lane<Uint8Array, number | undefined>
  /** Whether it is there and not a tombstone. */
  readonly exists: Lane<Uint8Array, boolean>
  readonly insert: Lane<Commit, void>
  readonly replace: Lane<Commit, boolean>
  /** Whether an index table has pending rows here. */
  readonly pending: Lane<string, boolean>
  /** The lanes of an index table. */
  index(spec: IndexTableSpec): IndexLanes
  /** Of each lane that has sent something. */
  stats(): readonly LaneStats[]
  /** Takes keys of a table of claims, see `ClaimTable.take`. */
  claims(spec: IndexTableSpec): Lane<IndexRow, IndexRow | undefined>
}

export interface LaneStats {
  /** `entities` for that one, whatever it is called; the table of an index or of its claims. */
  readonly table: string
  /** What its statements do, such as `read`, `insert` or `scan`. */
  readonly kind: string
  readonly statements: number
  /** Rows, ids or scans that went with them. */
  readonly items: number
  /** Those that wait to be sent. */
  readonly waiting: number
}

/** An entity whose body was left out of an answer, and its length. */
export interface LongBody {
  readonly id: Uint8Array
  readonly bytes: number
}

export interface IndexLanes {
  readonly upsert: Lane<IndexRow, void>
  readonly remove: Lane<IndexRowRemoval, void>
  readonly scan: Lane<IndexScan, readonly IndexRow[]>
}

/** Rows per statement: enough to pay for the round trip and the flush many times over, few enough to answer soon. */
const MAX_BATCH = 256
/** Entities that are read by one statement. With 256, 64 callers of pages of 20 sent a quarter more statements. */
const MAX_READ_BATCH = 512
/** Bodies per statement, in bytes; far below any packet limit, also as the text of a statement, where they are twice as long. */
const MAX_BYTES = 2 * 1024 * 1024
/** Bodies of one answer, in bytes, or one body; a few of these may be in hand at once for each shard. */
const MAX_READ_BYTES = 4 * 1024 * 1024
/** Scans per statement: more gain nothing. */
const MAX_SCANS = 128
/** Rows of one statement of scans, or one scan: so many that none waits long for those of others. Of a covering index a fifth. */
const MAX_SCAN_ROWS = 5_000
/** Bytes of a row, and of what it includes, about. */
const ROW_BYTES = 200
const INCLUDED_BYTES = 800
/** Items lined up in a lane; calls beyond wait for room. */
const MAX_QUEUE = 20_000
/**
 * Rows with which a look-up by id or a statement of scans waits for no more calls. Some callers then have their answers decoded while the shard reads
 * for the others: see decision 48. Writes share a flush, and long bodies are few, so these wait.
 */
const ENOUGH_ROWS = 64
/** Rows of a scan that count for it: it may find fewer than its limit. */
const SURE_ROWS = 16
/** Turns of the event loop that a statement under load waits for more calls where it is short of them; with three it gains nothing any more. */
const GATHER_TURNS = 2

/** A lane to this table, for statements of this kind. */
type MakeLane = <Item, Result>(
  table: string,
  kind: string,
  options: Pick<LaneOptions<Item, Result>, 'run'> & Partial<LaneOptions<Item, Result>>,
) => Lane<Item, Result>

/** `observing`: for whoever traces calls down to statements. */
export function createShardLanes(
  shard: Shard,
  observing?: Pick<Observing, 'workFor' | 'happened'>,
): ShardLanes {
  const byTable = new Map<string, IndexLanes>()
  const takes = new Map<string, Lane<IndexRow, IndexRow | undefined>>()
  const made: { readonly table: string; readonly kind: string; readonly lane: Lane<never, unknown> }[] = []
  const entityWrite = {
    maxBytes: MAX_BYTES,
    keyOf: (row: { id: Uint8Array }) => idKey(row.id),
    // A statement with something deferred is a transaction; the others are spared that.
    groupOf: (row: { epoch: number; deferred?: readonly string[] | undefined }) =>
      (row.deferred?.length ?? 0) === 0 ? row.epoch : `deferred ${row.epoch}`,
    bytesOf: (row: { body: Uint8Array | null }) => row.body?.length ?? 0,
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
    const one = createLane({ ...limits, name, ...options })
    made.push({ table, kind, lane: one })
    return one
  }

  return {
    shard: shard.name,
    read: lane('entities', 'read', {
      maxBatch: MAX_READ_BATCH,
      enoughRows: ENOUGH_ROWS,
      run: (ids): Promise<readonly (EntityRow | BoundedRow | undefined)[]> =>
        ids.length === 1
          ? shard.entities.read(ids)
          : shard.entities.readBounded(ids, Math.floor(MAX_READ_BYTES / ids.length)),
    }),
    readLong: lane('entities', 'read long', {
      maxBytes: MAX_READ_BYTES,
      bytesOf: ({ bytes }) => bytes,
      run: (bodies: readonly LongBody[]) => shard.entities.read(bodies.map(({ id }) => id)),
    }),
    version: lane('entities', 'versions', {
      maxBatch: MAX_READ_BATCH,
      enoughRows: ENOUGH_ROWS,
      run: (ids: readonly Uint8Array[]) => shard.entities.readVersions(ids),
    }),
    exists: lane('entities', 'exist', {
      enoughRows: ENOUGH_ROWS,
      run: (ids: readonly Uint8Array[]) => shard.entities.exist(ids),
    }),
    insert: lane('entities', 'insert', {
      ...entityWrite,
      run: async (rows: readonly Commit[]) => {
        await shard.entities.insert(rows, { epoch: epochOf(rows) })
        return rows.map(() => undefined)
      },
    }),
    replace: lane('entities', 'replace', {
      ...entityWrite,
      run: (rows: readonly Commit[]) => shard.entities.replace(rows, { epoch: epochOf(rows) }),
    }),
    pending: lane('pending', 'tables', {
      run: async (tables: readonly string[]) => {
        const there = new Set(await shard.pending.tables())
        return tables.map((table) => there.has(table))
      },
    }),
    index(spec) {
      let lanes = byTable.get(spec.table)
      if (lanes === undefined) {
        lanes = createIndexLanes(shard.index(spec), spec, lane)
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

function createIndexLanes(table: IndexTable, spec: IndexTableSpec, lane: MakeLane): IndexLanes {
  return {
    upsert: lane(spec.table, 'upsert', {
      run: async (rows: readonly IndexRow[]) => {
        await table.upsert(rows)
        return rows.map(() => undefined)
      },
    }),
    remove: lane(spec.table, 'remove', {
      run: async (rows: readonly IndexRowRemoval[]) => {
        await table.remove(rows)
        return rows.map(() => undefined)
      },
    }),
    scan: lane(spec.table, 'scan', {
      maxBatch: MAX_SCANS,
      maxBytes: MAX_SCAN_ROWS * ROW_BYTES,
      enoughRows: ENOUGH_ROWS,
      rowsOf: ({ limit }) => Math.min(limit, SURE_ROWS),
      bytesOf: ({ limit, included = false }) => limit * (included ? ROW_BYTES + INCLUDED_BYTES : ROW_BYTES),
      run: async (scans: readonly IndexScan[]) =>
        scans.length === 1 ? [await table.scan(scans[0] as IndexScan)] : table.scanMany(scans),
    }),
  }
}

/**
 * The calls that one answer sets free come back within a turn or two of the event loop, and not all in the same one. To
 * wait for them makes a quarter to two fifths fewer statements of 64 callers, worth far more than the wait.
 */
async function gather(): Promise<void> {
  for (let turn = 0; turn < GATHER_TURNS; turn++)
    await new Promise<void>((resolve) => platformTime.setImmediate(resolve))
}

function epochOf(rows: readonly { readonly epoch: number }[]): number {
  // Lanes group by epoch, so the first row speaks for all.
  return rows[0]?.epoch ?? 0
}
