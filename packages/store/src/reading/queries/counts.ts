import { isLooseleafError, type CallOptions } from '@looseleaf/core'
import type { ReplicaReadOptions } from '@looseleaf/core/internal'
import type { IndexProperties, QueryOptions, QueryPage } from '@looseleaf/index-engine'
import type { OnDamaged, OnUnavailable, QueryPlan } from '@looseleaf/index-engine/internal'
import { countRows, countShortRange, tablesOf } from './count-rows.ts'
import type { ProtectedReads } from './protected-reads.ts'
import type { MatchesToRead, ReadAll } from './read-all.ts'
import { createShortCounts } from './short-counts.ts'
import { SHORT_COUNT } from '../../calls/index-lanes.ts'
import { costWithout, partialAnswer, type MissingShards } from '../entities/missing-shards.ts'
import type { PartialCount } from '../entities/partial-answer.ts'
import { versionReader } from '../rows/version-reader.ts'
import type { Completeness } from '../steps/completeness.ts'
import type { Sources } from '../steps/read.ts'

/** Largest number of index rows whose entities a count checks by default. A larger count is a number of rows. */
const EXACT_COUNT = 1_000

export interface QueryManyOptions extends Omit<QueryOptions, 'cursor'> {
  /** Also counts the entities that match each condition, as `store.count` does: exactly up to 1,000. Default: false. */
  readonly count?: boolean | undefined
}

/** A page with the number of all entities that match: exact up to 1,000, see `CountOptions.exact`. */
export interface CountedPage<P extends IndexProperties = IndexProperties> extends QueryPage<P> {
  readonly count: number
}

export interface CountOptions extends CallOptions, ReplicaReadOptions {
  /** Asks every shard if `where` does not tell which shard has the rows. */
  readonly scatter?: boolean | undefined
  /**
   * Precision of the number. By default it is exact up to 1,000, unless checking the entities takes longer than `queryTimeMs`; above it
   * is a number of index rows. Rows of entities that have moved in the last seconds, and rows left by writes that died, make that too high.
   * So do copies with `scatter`, while buckets move between shards. `true`: always exact; reads every entity that matches. `false`: always
   * counts index rows, in one statement per shard, or in two if there are more than 100. A count is too low only while rows are pending, see
   * `onIndexFailure`, and if entities move between shards while rows are counted for longer than `queryTimeMs`. Two queries always check
   * every entity, because their rows cannot tell the number: a scatter over an index whose `shardOn` is an array, and bounds of more than
   * 512 bytes.
   */
  readonly exact?: boolean | undefined
  /** Handling of damaged entities in a count that reads every entity. Default: `fail`. Without `exact: true` a damaged entity counts as a match. */
  readonly onDamaged?: OnDamaged | undefined
  /** Handling of a shard that does not answer. `skip` leaves its entities out, and returns a `PartialCount`. Default: `fail`. */
  readonly onUnavailable?: OnUnavailable | undefined
}

/** Conditions read concurrently; as many scans go with one statement of a lane. */
export const MAX_TOGETHER = 128

export interface Counts {
  /** Counts each plan; without the shards that do not answer if the call skips these. */
  countAll(
    sources: Sources,
    plans: readonly QueryPlan[],
    options: CountOptions,
  ): Promise<(number | PartialCount)[]>
  /** Adds the number of all entities that match to the first pages of plans. */
  withCounts(
    sources: Sources,
    plans: readonly QueryPlan[],
    pages: readonly QueryPage[],
    options: QueryManyOptions,
  ): Promise<CountedPage[]>
}

export function createCounts(
  completeness: Completeness,
  readAll: ReadAll,
  protectedReads: ProtectedReads,
): Counts {
  const shortCounts = createShortCounts()

  /**
   * Counts the entities of few rows, and checks each. Reads the body only if the row and its entity have different versions. A damaged
   * entity counts as a match. Returns undefined if there are more than `limit`, or if the check took too long.
   */
  async function countFew(
    sources: Sources,
    plan: QueryPlan,
    bounds: Pick<MatchesToRead, 'likelyRows' | 'limit' | 'missing'>,
    { signal }: CountOptions,
  ): Promise<number | undefined> {
    let count = 0
    const add = (): void => void count++
    const options = { signal, onDamaged: add }
    const rows = plan.rowsTellAnswers ? versionReader : undefined
    try {
      return (await readAll(sources, { plan, options, rows, ...bounds }, add)) ? count : undefined
    } catch (error) {
      if (isLooseleafError(error, 'DEADLINE')) return undefined
      throw error
    }
  }

  /** Counts the rows of a plan with one range. Returns undefined if there are many, or if the count took too long. */
  async function countShort(
    sources: Sources,
    plan: QueryPlan,
    missing: MissingShards | undefined,
    signal: AbortSignal | undefined,
  ): Promise<number | undefined> {
    const { view } = sources
    const isTooLong = completeness.deadline(view)
    await completeness.mayBePending(view, [plan])
    const left = missing && view.skipping?.begin()
    const count = await countShortRange(sources, plan, left, signal)
    if (count === undefined || isTooLong()) return undefined
    missing?.add(left)
    return count
  }

  /** Counts these plans, as many at the same time as share a statement. */
  async function countEach(
    plans: readonly number[],
    count: (plan: number) => Promise<number | undefined>,
  ): Promise<ReadonlyMap<number, number>> {
    const counts = new Map<number, number>()
    for (let from = 0; from < plans.length; from += MAX_TOGETHER) {
      const together = plans.slice(from, from + MAX_TOGETHER)
      const found = await Promise.all(together.map(count))
      for (const [n, plan] of together.entries()) {
        const number = found[n]
        if (number !== undefined) counts.set(plan, number)
      }
    }
    return counts
  }

  /** Counts each plan. With `missing`, one for each plan, leaves out the shards that do not answer. */
  async function countPlans(
    sources: Sources,
    plans: readonly QueryPlan[],
    { exact, ...options }: CountOptions,
    missing?: readonly MissingShards[],
  ): Promise<number[]> {
    const countedOn = { signal: options.signal, view: sources.view, missing }
    const countable = new Set([...plans.keys()].filter((i) => exact !== true && plans[i]!.canCountRows))
    const { table } = sources.entries[0]!
    const short = [...countable].filter((i) => plans[i]!.ranges.length === 1 && shortCounts.areLikely(table))
    const shortly = await countEach(short, (i) =>
      exact === false
        ? countShort(sources, plans[i]!, missing?.[i], options.signal)
        : countFew(sources, plans[i]!, { limit: SHORT_COUNT, missing: missing?.[i] }, options),
    )
    for (const i of short) shortCounts.learn(table, shortly.has(i))
    const byRows = new Set([...countable].filter((i) => !shortly.has(i)))
    const counted = plans.map((plan, i) => (byRows.has(i) ? plan : undefined))
    const isTooLong = completeness.deadline(sources.view)
    // One range is one statement. Several may be more, and then an entity that moves could be in none of them, or in two.
    const isSplit = counted.some((plan) => plan !== undefined && plan.ranges.length > 1)
    const counts = isSplit
      ? await protectedReads.tables(sources, options.signal, (tableOf) =>
          countRows(tableOf, counted, countedOn),
        )
      : await countRows(tablesOf(sources), counted, countedOn)
    const isLate = isTooLong()
    // A number of rows has no deadline. Its statements may have waited until the rows were somewhere else.
    if (byRows.size > 0) await completeness.mayBePending(sources.view, plans)
    for (const i of byRows) shortCounts.learn(table, counts[i]! <= SHORT_COUNT)
    for (const [i, count] of shortly) counts[i] = count
    // One after the other, because each may read many entities.
    for (const [i, plan] of plans.entries()) {
      if (!countable.has(i))
        await readAll(sources, { plan, options, missing: missing?.[i] }, () => counts[i]!++)
    }
    if (exact !== undefined) return counts
    // A count of 0 rows is exact: rows are written before their entity and deleted after it. After the deadline, an entity may have moved from a
    // shard that answered late to one that had answered.
    const least = isLate ? 0 : 1
    const few = [...byRows].filter((i) => counts[i]! >= least && counts[i]! <= EXACT_COUNT)
    // After the deadline the check may have missed entities that have moved. The number of rows includes them, if it came in time.
    const checked = await countEach(few, (i) =>
      countFew(sources, plans[i]!, { likelyRows: counts[i]!, missing: missing?.[i] }, options),
    )
    for (const [i, count] of checked) counts[i] = count
    return counts
  }

  return {
    async countAll(sources, plans, options) {
      const { skipping } = sources.view
      if (skipping === undefined) {
        // Keeps the catalog current to some seconds, which the plans rely on.
        await completeness.mayBePending(sources.view, plans)
        return countPlans(sources, plans, options)
      }
      const missing = plans.map(() => skipping.begin())
      const isWhole = await completeness.begin(sources, plans)
      const counts = await countPlans(sources, plans, options, missing)
      return counts.map((count, i) => ({ count, ...partialAnswer(missing[i]!, isWhole()) }))
    },
    async withCounts(sources, plans, pages, options) {
      // A first page without a cursor has every match.
      const longer = [...pages.keys()].filter((i) => pages[i]!.cursor !== undefined)
      const counts = new Map<number, number>()
      const { skipping } = sources.view
      const missing = skipping && plans.map(() => skipping.begin())
      if (longer.length > 0) {
        const longerPlans = longer.map((i) => plans[i]!)
        const missingOfLonger = missing && longer.map((i) => missing[i]!)
        // As in `countAll`. If shards are skipped, the pages have looked at the catalog, and tell whether rows are pending.
        if (missing === undefined) await completeness.mayBePending(sources.view, longerPlans)
        const found = await countPlans(sources, longerPlans, options, missingOfLonger)
        for (const [n, i] of longer.entries()) counts.set(i, found[n]!)
      }
      return pages.map((page, i) => {
        const { items } = page
        const cost = costWithout(page.cost, missing?.[i])
        return { ...page, cost, count: counts.get(i) ?? items.length + (cost.damaged?.length ?? 0) }
      })
    },
  }
}
