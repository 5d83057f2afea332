import {
  isLooseleafError,
  type CallOptions,
  type CatalogEntry,
  type ReplicaReadOptions,
} from '@looseleaf/core'
import type {
  EngineContext,
  GetAllOptions,
  IndexProperties,
  OnDamaged,
  QueryOptions,
  QueryPage,
  QueryPlan,
  QueryPorts,
  ReadEntity,
} from '@looseleaf/index-engine'
import { countRows } from './count-rows.ts'
import type { ReadView } from './replica-reads.ts'
import { committedVersions, takeTold } from './told-by-rows.ts'

/** Index rows up to which a count looks at the entities by default; what it answers above is a count of rows. */
const EXACT_COUNT = 1_000

export interface QueryManyOptions extends Omit<QueryOptions, 'cursor'> {
  /** Counts all that matches each condition too, as `store.count` does: exactly up to 1,000. Default: false. */
  readonly count?: boolean | undefined
}

/** A page, and how many entities match in all: exactly up to 1,000, see `CountOptions.exact`. */
export interface CountedPage<P extends IndexProperties = IndexProperties> extends QueryPage<P> {
  readonly count: number
}

export interface CountOptions extends CallOptions, ReplicaReadOptions {
  /** Ask every shard where the shard cannot be told from `where`. */
  readonly scatter?: boolean | undefined
  /**
   * How sure the number is. By default it is exact up to 1,000, unless the look at the entities takes longer than `queryTimeMs`. Otherwise it is a number of index rows, which is too high by the entities
   * that have moved in the last seconds, and by what writes that died have left until a cleaner has passed. `true`: exact in any case; reads
   * every entity that matches. `false`: index rows, in one statement a shard, however few there are. Each is too low only while rows are
   * pending, see `onIndexFailure`. Every entity is looked at in any case where rows cannot tell: over all shards of an index that is kept
   * by the elements of an array, and between bounds of over 512 bytes.
   */
  readonly exact?: boolean | undefined
  /**
   * Says how a call that looks at every entity goes on when it meets a damaged one. Default: `fail`. Without `exact: true` a damaged entity counts
   * as one that matches.
   */
  readonly onDamaged?: OnDamaged | undefined
}

/** Conditions that are worked on at the same time: what lanes take into one statement. */
export const MAX_TOGETHER = 128

/** Calls `onMatch` with every entity of a plan, read by `readBy` of the usual way to read. */
export type ReadAll = (
  view: ReadView,
  entry: CatalogEntry,
  plan: QueryPlan,
  options: GetAllOptions & { readonly likelyRows?: number | undefined },
  onMatch: (entity: ReadEntity) => void,
  readBy?: (read: QueryPorts['read']) => QueryPorts['read'],
) => Promise<void>

export interface Counts {
  /** How many entities match each plan. */
  countAll(
    view: ReadView,
    entry: CatalogEntry,
    plans: readonly QueryPlan[],
    options: CountOptions,
  ): Promise<number[]>
  /** First pages of plans, with how many entities match in all. */
  withCounts(
    view: ReadView,
    entry: CatalogEntry,
    plans: readonly QueryPlan[],
    pages: readonly QueryPage[],
    options: QueryManyOptions,
  ): Promise<CountedPage[]>
}

export function createCounts(
  context: Pick<EngineContext, 'router'>,
  mayBePending: (view: ReadView, plans: readonly QueryPlan[]) => Promise<unknown>,
  readAll: ReadAll,
): Counts {
  /**
   * Counts the entities of some rows, with statements that others share. A row that has the version of its entity is enough. A
   * damaged entity counts as one that matches.
   */
  async function countFew(
    view: ReadView,
    entry: CatalogEntry,
    plan: QueryPlan,
    likelyRows: number,
    signal: AbortSignal | undefined,
  ): Promise<number> {
    let count = 0
    const add = (): void => void count++
    if (!plan.rowsTellAnswers) {
      await readAll(view, entry, plan, { signal, likelyRows, onDamaged: add }, add)
      return count
    }
    await readAll(
      view,
      entry,
      plan,
      { signal, likelyRows, onDamaged: add },
      add,
      (readWhole) => async (rows, own, take) => {
        const versions = await committedVersions(context, view.lanes, rows, own)
        const told = rows.map(({ key, entityId: id, version }, place): ReadEntity | undefined =>
          version === undefined || versions[place] !== version
            ? undefined
            : { id, bag: {}, key, version, updated: undefined, bytes: 0 },
        )
        await takeTold(rows, told, readWhole, own, take)
      },
    )
    return count
  }

  async function countAll(
    view: ReadView,
    entry: CatalogEntry,
    plans: readonly QueryPlan[],
    { exact, ...options }: CountOptions,
  ): Promise<number[]> {
    // By a process that knows its store, as of now or some seconds ago.
    await mayBePending(view, plans)
    const byRows = plans.map((plan) => (exact === true || !plan.canCountRows ? undefined : plan))
    const counts = await countRows(view, entry, byRows, options.signal)
    // One after the other: each reads as much as it takes.
    for (const [i, plan] of plans.entries()) {
      if (byRows[i] === undefined) await readAll(view, entry, plan, options, () => counts[i]!++)
    }
    if (exact !== undefined) return counts
    // No rows, no entities: rows are written before their entity and deleted after it.
    const few = [...plans.keys()].filter((i) => byRows[i] && counts[i]! > 0 && counts[i]! <= EXACT_COUNT)
    for (let from = 0; from < few.length; from += MAX_TOGETHER) {
      const together = few.slice(from, from + MAX_TOGETHER)
      const found = await Promise.all(
        together.map((i) =>
          countFew(view, entry, plans[i]!, counts[i]!, options.signal).catch((error: unknown) => {
            // The look may have missed entities that have moved; the rows lack none.
            if (isLooseleafError(error, 'DEADLINE')) return counts[i]!
            throw error
          }),
        ),
      )
      for (const [n, i] of together.entries()) counts[i] = found[n]!
    }
    return counts
  }

  return {
    countAll,
    async withCounts(view, entry, plans, pages, options) {
      // A first page without a cursor has all that there is.
      const longer = [...pages.keys()].filter((i) => pages[i]!.cursor !== undefined)
      const counts = new Map<number, number>()
      if (longer.length > 0) {
        const found = await countAll(
          view,
          entry,
          longer.map((i) => plans[i]!),
          options,
        )
        for (const [n, i] of longer.entries()) counts.set(i, found[n]!)
      }
      return pages.map((page, i) => {
        const { items, cost } = page
        return { ...page, count: counts.get(i) ?? items.length + (cost.damaged?.length ?? 0) }
      })
    },
  }
}
