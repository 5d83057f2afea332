import { LooseleafError, type CatalogEntry } from '@looseleaf/core'
import type { IndexRow } from '@looseleaf/core/internal'
import type { IndexProperties, QueryCost, QueryOptions, QueryPage } from '@looseleaf/index-engine'
import {
  bodyRuns,
  bytesInHand,
  includedPart,
  tableSpec,
  type EngineContext,
  type QueryPlan,
  type QueryPorts,
  type ReadEntity,
  type RowPlace,
  type TakeGroup,
} from '@looseleaf/index-engine/internal'
import type { ShardLanes } from '../calls/shard-lanes.ts'
import { committedVersions, takeInRowOrder } from './committed-versions.ts'

export interface ListOptions extends QueryOptions {
  /**
   * Compares each row with the version of its entity, and reads the entity where they differ, so that every item is committed. If
   * false, an item may have been replaced, or be of a write that is never committed. Default: true.
   */
  readonly verify?: boolean | undefined
}

/** A page of a list. Its items have the properties of the index, of its `on` and of its `include`, each under its path. */
export interface ListPage<P extends IndexProperties = IndexProperties> extends QueryPage<P> {
  readonly cost: ListCost
  /** True if each item was committed when it was read. */
  readonly verified: boolean
}

export interface ListCost extends QueryCost {
  /** Items taken from index rows alone. With `verify` they count in `entitiesRead` too, since their versions were read. */
  readonly entitiesCovered: number
}

/** Estimated bytes in memory of an item, besides the bytes of its part. */
const ITEM_BYTES = 200

/** An `IndexRow`, or the place where a page begins, which has no included part. */
type CoveringRow = RowPlace & Pick<IndexRow, 'included'>

export interface CoveringReads {
  readonly ports: QueryPorts
  covered(): number
  /** Number of reads of whole entities. */
  wholeReads(): number
}

/** The list to read from a covering index. */
export interface CoveredList {
  readonly entry: CatalogEntry
  readonly plan: Pick<QueryPlan, 'rowsTellPlaces'>
  readonly verify: boolean
}

/**
 * Makes ports for a query that takes items from the rows of a covering index. An item is the included part of its row, if the row was
 * committed (see `committedVersions`). Any other entity is read whole, and its part is taken from the bag.
 */
export function createCoveringReads(
  context: EngineContext,
  lanes: (shard: number) => ShardLanes,
  { entry, plan, verify }: CoveredList,
  readWhole: QueryPorts['read'],
): CoveringReads {
  const { codec } = context
  const givesPlace = !verify && plan.rowsTellPlaces
  let covered = 0
  let wholeReads = 0

  function partOf({ key, entityId: id, version, included }: CoveringRow): ReadEntity | undefined {
    if (version === undefined || included === undefined || included === null) return undefined
    const bytes = ITEM_BYTES + bytesInHand(codec, included)
    try {
      const bag = codec.decode(included)
      return { id, bag, key: givesPlace ? key : undefined, version, updated: undefined, bytes }
    } catch {
      // The entity is read instead. It gives the part, or the error.
      return undefined
    }
  }

  const readPartsOfWhole = readParts(entry, readWhole)

  /** Hands over the items of rows whose parts fit into memory together. Returns true if `take` wants more. */
  async function readRun(
    rows: readonly CoveringRow[],
    versions: readonly (number | undefined)[] | undefined,
    signal: AbortSignal | undefined,
    take: TakeGroup,
  ): Promise<boolean> {
    const parts = rows.map((row, place) =>
      versions === undefined || versions[place] === row.version ? partOf(row) : undefined,
    )
    const coveredHere = parts.reduce((count, part) => (part === undefined ? count : count + 1), 0)
    covered += coveredHere
    if (coveredHere < rows.length) wholeReads++
    return takeInRowOrder(rows, parts, readPartsOfWhole, signal, take)
  }

  return {
    covered: () => covered,
    wholeReads: () => wholeReads,
    ports: {
      scan: (shard, scan, signal) =>
        lanes(shard)
          .index(tableSpec(entry))
          .scan.submit({ ...scan, included: true }, signal),
      async read(rows: readonly CoveringRow[], signal, take) {
        const versions = verify ? await committedVersions(context, lanes, rows, signal) : undefined
        let from = 0
        for (const run of bodyRuns(rows, ({ included }) => (included ? bytesInHand(codec, included) : 0))) {
          const isWanted = await readRun(run, versions?.slice(from, from + run.length), signal, take)
          if (!isWanted) return
          from += run.length
        }
      },
    },
  }
}

/** Reads whole entities, and hands over the part of each that a row of this index would include. */
export function readParts(entry: CatalogEntry, readWhole: QueryPorts['read']): QueryPorts['read'] {
  const partOf = (entity: ReadEntity | undefined): ReadEntity | undefined =>
    entity && { ...entity, bag: includedPart(entry, entity.bag), updated: undefined }
  return (rows, signal, take) => readWhole(rows, signal, (group) => take(group.map(partOf)))
}

export function notCovering({ name }: Pick<CatalogEntry, 'name'>): LooseleafError {
  return new LooseleafError(
    'BAD_QUERY',
    `Index ${name} includes no properties, so it cannot list them: add \`include\` to its definition, or use \`query\`.`,
  )
}
