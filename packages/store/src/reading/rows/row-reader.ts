import {
  tableSpec,
  type IntersectionPlan,
  type QueryCost,
  type QueryPlan,
  type QueryPorts,
  type RowPlace,
} from '@looseleaf/index-engine/internal'
import type { IndexLanes, RowWithEntity } from '../../calls/index-lanes.ts'
import { MAX_READ_ROWS } from '../../calls/lane-limits.ts'
import type { EntityReader, ReadOptions } from '../entities/entity-reader.ts'
import type { Sources } from '../steps/read.ts'

/** Reads the index rows of a plan, and the items to which they lead. */
export interface RowReader extends QueryPorts {
  /** Corrects the cost of a page, which counts an entity for every item, and a read for every batch. */
  readonly costOf?: (cost: QueryCost) => QueryCost
}

/** Reads whole entities, and offers scans for other readers. */
export interface WholeReader extends RowReader {
  readonly costOf: (cost: QueryCost) => QueryCost
  /** Scans rows alone. */
  readonly scanRows: QueryPorts['scan']
  /** Scans rows, with the versions of their entities if that pays, see `RowWithVersion`. */
  readonly scanVersions: QueryPorts['scan']
  /** Reads the versions of entities, see `EntityReader`. */
  readonly versions: EntityReader['versions']
}

/** Makes another reader from the reader of whole entities. */
export type RowReaderFrom = (whole: WholeReader) => RowReader

/**
 * Shards of a range up to which its rows come with their entities. Each shard reads as many rows as the page may need, so a page reads
 * entities of all shards for nothing but one.
 */
const MAX_JOINED_SHARDS = 2

/** Returns the scans of one attempt of a read, in place of those of a reader; see `ProtectedReads`. */
export type Guard = (scan: QueryPorts['scan']) => QueryPorts['scan']

/** Guards the scans of a reader. */
export function guarded(reader: WholeReader, guard: Guard): WholeReader {
  return {
    ...reader,
    scan: guard(reader.scan),
    scanRows: guard(reader.scanRows),
    scanVersions: guard(reader.scanVersions),
  }
}

/** Makes the usual reader: each item is the entity of its row, which came with the row or is read by id. */
export function wholeReader(
  { view: { lanes, reader }, entries }: Sources,
  plan: QueryPlan | IntersectionPlan,
  { handleDamaged, leaveOut }: Pick<ReadOptions, 'handleDamaged' | 'leaveOut'>,
): WholeReader {
  let reads = 0
  const lanesOf = (shard: number, index: number): IndexLanes => lanes(shard).index(tableSpec(entries[index]!))

  return {
    scan(shard, scan, signal, index) {
      const { local, scan: scanRows, scanEntities } = lanesOf(shard, index)
      const isJoined = joinsEntities(plan, scan.limit) && local.entitiesPay()
      return (isJoined ? scanEntities : scanRows).submit(scan, signal)
    },
    scanRows: (shard, scan, signal, index) => lanesOf(shard, index).scan.submit(scan, signal),
    scanVersions(shard, scan, signal, index) {
      const { local, scan: scanRows, scanVersions } = lanesOf(shard, index)
      return (mayJoin(plan) && local.versionsPay ? scanVersions : scanRows).submit(scan, signal)
    },
    read(rows: readonly Row[], signal, take) {
      const known = rows.some(hasEntity) ? rows.map(({ entity }) => entity) : undefined
      if (known === undefined || known.includes(undefined)) reads++
      const ids = rows.map(({ entityId }) => entityId)
      return reader.each(ids, { signal, handleDamaged, leaveOut }, take, known)
    },
    versions: (ids, options) => reader.versions(ids, { ...options, leaveOut }),
    costOf: (cost) => ({ ...cost, entityReads: reads }),
  }
}

/** A `RowWithEntity`, or the place where a page begins. */
type Row = RowPlace & Pick<RowWithEntity, 'entity'>

const hasEntity = ({ entity }: Row): boolean => entity !== undefined

/** Tells whether a scan of so many rows may bring their entities along. */
export function joinsEntities(plan: QueryPlan | IntersectionPlan, rows: number): boolean {
  return rows <= MAX_READ_ROWS && mayJoin(plan)
}

/** Tells whether most of the rows that the scans of a plan return are examined. An intersection examines those alone that are in all. */
function mayJoin(plan: QueryPlan | IntersectionPlan): boolean {
  return 'ranges' in plan && plan.ranges.every(({ shards }) => shards.length <= MAX_JOINED_SHARDS)
}
