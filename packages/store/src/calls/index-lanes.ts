import type {
  BoundedRow,
  IndexRow,
  IndexRowRemoval,
  IndexScan,
  IndexTable,
  IndexTableSpec,
  JoinedRow,
  KeyRange,
  Lane,
  VersionedRow,
} from '@looseleaf/core/internal'
import { ENOUGH_ROWS, MAX_READ_BYTES, MAX_READ_ROWS, ROW_BYTES } from './lane-limits.ts'
import { createLocalShare, type LocalShare } from './local-share.ts'
import type { FoundAnswer, MakeLane, OwnerCheck } from './shard-lanes.ts'

/** An index row that may have brought its entity along. */
export interface RowWithEntity extends IndexRow {
  /** The row of its entity; null if there is neither an entity nor a tombstone; undefined if that has to be read by id. */
  readonly entity?: BoundedRow | null | undefined
}

/** An index row that may have brought the version of its entity along. */
export interface RowWithVersion extends IndexRow {
  /** As `entity` of `RowWithEntity`. */
  readonly entityVersion?: number | null | undefined
}

export interface IndexLanes {
  readonly upsert: Lane<IndexRow, void>
  readonly remove: Lane<IndexRowRemoval, void>
  readonly scan: Lane<IndexScan, readonly IndexRow[]>
  /** Reads rows with those of their entities that are on this shard. */
  readonly scanEntities: Lane<IndexScan, readonly RowWithEntity[]>
  readonly scanVersions: Lane<IndexScan, readonly RowWithVersion[]>
  /** Counts the entities of short ranges, see `SHORT_COUNT`; undefined for a longer one. */
  readonly countShort: Lane<KeyRange, number | undefined>
  readonly local: LocalShare
}

/** Scans per statement. More are no faster. */
const MAX_SCANS = 128
/**
 * Number of scans in a batch from which small scans are sent without a join. A server takes some time to plan each join, and so many scans
 * need a second statement for each shard anyway.
 */
const MANY_SCANS = 32
const SMALL_SCAN_ROWS = 8
/** Rows per statement of scans, so that a scan does not wait long for the others; a fifth for covering indexes. One longer scan goes alone. */
const MAX_SCAN_ROWS = 5_000
/** Estimated bytes of the included properties of an index row. */
const INCLUDED_BYTES = 800
/** Rows up to which a range is short: few enough that its count shares a statement with others. */
export const SHORT_COUNT = 100
/** Rows that a scan counts towards `ENOUGH_ROWS` at most, because it may find fewer than its limit. */
const SURE_ROWS = 16

export function createIndexLanes(
  table: IndexTable,
  { table: name }: IndexTableSpec,
  lane: MakeLane,
  owners: OwnerCheck,
): IndexLanes {
  const local = createLocalShare(owners.isAlone)
  const scanOptions = {
    maxBatch: MAX_SCANS,
    maxBytes: MAX_SCAN_ROWS * ROW_BYTES,
    enoughRows: ENOUGH_ROWS,
    rowsOf: ({ limit }: IndexScan) => Math.min(limit, SURE_ROWS),
    bytesOf: ({ limit, included = false }: IndexScan) =>
      limit * (included ? ROW_BYTES + INCLUDED_BYTES : ROW_BYTES),
  }
  const isHere = ({ entityId }: IndexRow): boolean => owners.isHere(entityId)

  async function scanPlain(scans: readonly IndexScan[]): Promise<readonly (readonly IndexRow[])[]> {
    const pages = scans.length === 1 ? [await table.scan(scans[0]!)] : await table.scanMany(scans)
    for (const page of pages) local.learn(page, isHere)
    return pages
  }

  const runOf =
    <Row>(write: (rows: readonly Row[]) => Promise<unknown>) =>
    async (rows: readonly Row[]): Promise<readonly undefined[]> => {
      await write(rows)
      return rows.map(() => undefined)
    }

  return {
    local,
    upsert: lane(name, 'upsert', { run: runOf((rows: readonly IndexRow[]) => table.upsert(rows)) }),
    remove: lane(name, 'remove', { run: runOf((rows: readonly IndexRowRemoval[]) => table.remove(rows)) }),
    scan: lane(name, 'scan', {
      ...scanOptions,
      run: scanPlain,
    }),
    scanEntities: lane(name, 'scan entities', {
      ...scanOptions,
      maxBytes: MAX_READ_ROWS,
      bytesOf: ({ limit }: IndexScan) => limit,
      async run(scans: readonly IndexScan[]) {
        const rows = rowsOf(scans)
        if (areMany(scans, rows)) return scanPlain(scans)
        const maxBody = Math.floor(MAX_READ_BYTES / rows)
        const bounded = scans.map((scan) => ({ ...scan, maxBody }))
        const found = await owners.askFound(() => table.scanEntities(bounded))
        return found.answer.map((page) => {
          local.learnLengths(page, ({ entity }) => entity !== undefined && entity.body === undefined)
          return settled<JoinedRow, RowWithEntity>(
            page,
            found,
            ({ entity }) => entity,
            (row, entity) => ({ ...row, entity }),
          )
        })
      },
    }),
    scanVersions: lane(name, 'scan versions', {
      ...scanOptions,
      async run(scans: readonly IndexScan[]) {
        if (areMany(scans, rowsOf(scans))) return scanPlain(scans)
        const found = await owners.askFound(() => table.scanVersions(scans))
        return found.answer.map((page) =>
          settled<VersionedRow, RowWithVersion>(
            page,
            found,
            ({ entityVersion }) => entityVersion,
            (row, entityVersion) => ({ ...row, entityVersion }),
          ),
        )
      },
    }),
    countShort: lane(name, 'count', {
      maxBatch: Math.floor(MAX_SCAN_ROWS / SHORT_COUNT),
      enoughRows: ENOUGH_ROWS,
      rowsOf: () => SURE_ROWS,
      run: (ranges: readonly KeyRange[]) => table.countShort(ranges, SHORT_COUNT),
    }),
  }

  /** Gives null to rows that lead nowhere, and undefined to those whose entity this shard may not have. */
  function settled<Row extends IndexRow, Settled extends IndexRow>(
    page: readonly (Row & Settled)[],
    { isOwned, ownsAll }: Omit<FoundAnswer<unknown>, 'answer'>,
    valueOf: (row: Row) => unknown,
    withValue: (row: Row, value: null | undefined) => Settled,
  ): readonly Settled[] {
    local.learn(page, (row) => valueOf(row) !== undefined || isOwned(row.entityId))
    return page.map((row) => {
      const isFound = valueOf(row) !== undefined
      if (isFound && (ownsAll || isOwned(row.entityId))) return row
      if (isFound) return withValue(row, undefined)
      return isOwned(row.entityId) ? withValue(row, null) : row
    })
  }
}

const rowsOf = (scans: readonly IndexScan[]): number => scans.reduce((sum, { limit }) => sum + limit, 0)

const areMany = ({ length }: readonly IndexScan[], rows: number): boolean =>
  length > MANY_SCANS && rows < length * SMALL_SCAN_ROWS
