import { LooseleafError, type CatalogEntry, type IndexRow } from '@looseleaf/core'
import {
  bodyRuns,
  bytesInHand,
  includedPart,
  tableSpec,
  type EngineContext,
  type IndexProperties,
  type QueryCost,
  type QueryOptions,
  type QueryPage,
  type QueryPlan,
  type QueryPorts,
  type ReadEntity,
  type RowPlace,
  type TakeGroup,
} from '@looseleaf/index-engine'
import type { ShardLanes } from '../calls/shard-lanes.ts'
import { committedVersions, takeTold } from './told-by-rows.ts'

export interface ListOptions extends QueryOptions {
  /**
   * Holds each row against the version of its entity, and reads the entity where they differ: what is answered is
   * what is committed. Without it a row is believed: it may tell of what was replaced meanwhile, or of a write that never is
   * committed. Default: true.
   */
  readonly verify?: boolean | undefined
}

/**
 * A page of a list. Its items have the properties of the index, of its `on`, and those that it includes, each under its path, and
 * no others.
 */
export interface ListPage<P extends IndexProperties = IndexProperties> extends QueryPage<P> {
  readonly cost: ListCost
  /** Whether each item is its entity as it was committed when it was read. */
  readonly verified: boolean
}

export interface ListCost extends QueryCost {
  /** Entities of which rows alone have told. With `verify` they are among the `entitiesRead`, since their versions were. */
  readonly entitiesCovered: number
}

/** What is taken for an entity while it is in hand, besides the bytes of its part. */
const ITEM_BYTES = 200

/** An `IndexRow`, or the place where a page begins, which tells of nothing. */
type CoveringRow = RowPlace & Pick<IndexRow, 'included'>

export interface CoveringReads {
  readonly ports: QueryPorts
  covered(): number
  /** Look-ups of whole entities. */
  wholeReads(): number
}

/** What is asked of a covering index. */
export interface CoveredList {
  readonly entry: CatalogEntry
  readonly plan: Pick<QueryPlan, 'rowsTellPlaces'>
  readonly verify: boolean
}

/**
 * Ports for a query that takes entities from the rows of a covering index: of each the part that the row with the greatest
 * version holds, where the row tells what was committed (see `committedVersions`). All others are read whole, and their part is taken.
 */
export function createCoveringReads(
  context: EngineContext,
  lanes: (shard: number) => ShardLanes,
  { entry, plan, verify }: CoveredList,
  readWhole: QueryPorts['read'],
): CoveringReads {
  const { codec } = context
  const tellsPlace = !verify && plan.rowsTellPlaces
  let covered = 0
  let wholeReads = 0

  function partOf({ key, entityId: id, version, included }: CoveringRow): ReadEntity | undefined {
    if (version === undefined || included === undefined || included === null) return undefined
    const bytes = ITEM_BYTES + bytesInHand(codec, included)
    try {
      const bag = codec.decode(included)
      return { id, bag, key: tellsPlace ? key : undefined, version, updated: undefined, bytes }
    } catch {
      // The entity says the same, or what is wrong with it.
      return undefined
    }
  }

  const readPartsOfWhole = readParts(entry, readWhole)

  /** Hands over the entities of rows whose parts may be in hand together; answers whether more is wanted. */
  async function readRun(
    rows: readonly CoveringRow[],
    versions: readonly (number | undefined)[] | undefined,
    signal: AbortSignal | undefined,
    take: TakeGroup,
  ): Promise<boolean> {
    const parts = rows.map((row, place) =>
      versions === undefined || versions[place] === row.version ? partOf(row) : undefined,
    )
    const own = parts.reduce((count, part) => (part === undefined ? count : count + 1), 0)
    covered += own
    if (own < rows.length) wholeReads++
    return takeTold(rows, parts, readPartsOfWhole, signal, take)
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

/** Reads whole entities, and hands over the part of each that a row of this index would hold. */
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
