import type { Bag } from '@looseleaf/core'
import type { CatalogEntry, IndexRow } from '@looseleaf/core/internal'
import {
  bodyRuns,
  bytesInHand,
  isPending,
  type EngineContext,
  type QueryPlan,
  type ReadEntity,
  type TakeGroup,
} from '@looseleaf/index-engine/internal'
import type { ReadView } from '../freshness/replica-reads.ts'
import {
  committedVersions,
  knowsVersions,
  takeInRowOrder,
  type VersionedPlace,
} from './committed-versions.ts'
import type { ListCost } from './list-cost.ts'
import { readParts } from './part-reader.ts'
import type { RowReaderFrom } from './row-reader.ts'

export interface CoveredList {
  readonly entry: CatalogEntry
  readonly plan: Pick<QueryPlan, 'rowsTellPlaces' | 'shards'>
  readonly verify: boolean
}

/** Estimated bytes in memory of an item, besides the bytes of its part. */
const ITEM_BYTES = 200

/** An `IndexRow`, or the place where a page begins, which has no included part. */
type CoveringRow = VersionedPlace & Pick<IndexRow, 'included'>

/** An item of a row; undefined if its entity has to be read. */
type Part = ReadEntity | undefined

/**
 * Takes items from the rows of a covering index. An item is the included part of its row, if the row was committed (see
 * `committedVersions`). Any other entity is read whole, and its part is taken from the bag.
 */
export function coveredReader(
  { codec, bodies }: Pick<EngineContext, 'codec' | 'bodies'>,
  { lanes }: Pick<ReadView, 'lanes'>,
  { entry, plan, verify }: CoveredList,
): RowReaderFrom {
  /** Returns a promise only if codec entries have to be loaded. */
  function partOf(
    { key, entityId: id, version, included }: CoveringRow,
    shard: string,
  ): Part | Promise<Part> {
    if (version === undefined || included === undefined || included === null) return undefined
    const bytes = ITEM_BYTES + bytesInHand(codec, included)
    const part = (bag: Bag): ReadEntity => ({
      id,
      bag,
      key: plan.rowsTellPlaces ? key : undefined,
      version,
      updated: undefined,
      bytes,
    })
    // If the part cannot be decoded, the entity is read instead. It gives the part, or the error.
    try {
      const bag = bodies.decode(included, shard)
      return isPending(bag) ? bag.then(part, () => undefined) : part(bag)
    } catch {
      return undefined
    }
  }

  return ({ read, scanRows, scanVersions, versions: readVersions }) => {
    const readWholeParts = readParts(entry, read)
    const scanCovering = verify ? scanVersions : scanRows
    let covered = 0
    let wholeReads = 0
    let versionReads = 0

    /** Hands over the items of rows whose parts fit into memory together. Returns true if `take` wants more. */
    async function readRun(
      rows: readonly CoveringRow[],
      versions: readonly (number | undefined)[] | undefined,
      signal: AbortSignal | undefined,
      take: TakeGroup,
    ): Promise<boolean> {
      const { shard } = lanes(plan.shards[0]!)
      const decoded = rows.map((row, place) =>
        versions === undefined || versions[place] === row.version ? partOf(row, shard) : undefined,
      )
      const parts = decoded.some((part) => isPending(part)) ? await Promise.all(decoded) : (decoded as Part[])
      const coveredHere = parts.reduce((count, part) => (part === undefined ? count : count + 1), 0)
      covered += coveredHere
      if (coveredHere < rows.length) wholeReads++
      return takeInRowOrder(rows, parts, readWholeParts, signal, take)
    }

    return {
      scan: (shard, scan, signal, index) => scanCovering(shard, { ...scan, included: true }, signal, index),
      async read(rows: readonly CoveringRow[], signal, take) {
        if (verify && !knowsVersions(rows)) versionReads++
        const versions = verify ? await committedVersions(readVersions, rows, signal) : undefined
        let from = 0
        for (const run of bodyRuns(rows, ({ included }) => (included ? bytesInHand(codec, included) : 0))) {
          const isWanted = await readRun(run, versions?.slice(from, from + run.length), signal, take)
          if (!isWanted) return
          from += run.length
        }
      },
      costOf(cost): ListCost {
        if (verify) return { ...cost, entityReads: versionReads + wholeReads, entitiesCovered: covered }
        // A covered item reads nothing of its entity.
        const entitiesRead = cost.entitiesRead - covered
        return { ...cost, entityReads: wholeReads, entitiesRead, entitiesCovered: covered }
      },
    }
  }
}
