import type { EntityId, LooseleafError } from '@looseleaf/core'
import { elapsedBy } from '@looseleaf/core/internal'
import type { QueryOptions, QueryPage } from '@looseleaf/index-engine'
import {
  MAX_PAGE_BYTES,
  runQuery,
  type ByteBudget,
  type EngineContext,
  type IntersectionPlan,
  type QueryCost,
  type QueryPlan,
} from '@looseleaf/index-engine/internal'
import { damagedHandler, onceForEach } from '../entities/damaged-handler.ts'
import { skippingScans } from '../rows/skipping-scans.ts'
import { costWithout } from '../entities/missing-shards.ts'
import { guarded, wholeReader, type RowReaderFrom } from '../rows/row-reader.ts'
import type { Completeness } from '../steps/completeness.ts'
import type { Sources } from '../steps/read.ts'
import type { ProtectedReads } from './protected-reads.ts'

export interface PagesToRead {
  readonly plans: readonly (QueryPlan | IntersectionPlan)[]
  readonly options: Pick<QueryOptions, 'cursor' | 'signal' | 'onDamaged'>
  /** Bytes that all pages share. Default: those of one page. */
  readonly budget?: ByteBudget
  /** Default: whole entities. */
  readonly rows?: RowReaderFrom
}

export type ReadPages = (sources: Sources, pages: PagesToRead) => Promise<QueryPage[]>

/**
 * Makes the function that reads the pages of plans concurrently. Its steps:
 * 1. deadline: `queryTimeMs` begins, and pending rows are looked for;
 * 2. run: `runQuery` scans rows and reads items by a row reader; again from the beginning if an exact index needs a second statement;
 * 3. judge: the cost says whether the page is complete, how old it may be, and what it leaves out.
 */
export function createReadPages(
  context: EngineContext,
  completeness: Completeness,
  protectedReads: ProtectedReads,
): ReadPages {
  const { time, events } = context
  const now = elapsedBy(time)

  /** Returns the cost of a page as its caller gets it. */
  function judge(cost: QueryCost, { view, entries }: Sources, isWhole: boolean): QueryCost {
    const asOf = view.asOf()
    const { standsFor, generation } = entries[0]!
    const complete = cost.complete && isWhole
    if (complete === cost.complete && asOf === undefined && standsFor === undefined) return cost
    return {
      ...cost,
      complete,
      ...(standsFor !== undefined && { olderGeneration: generation }),
      ...(asOf !== undefined && { asOf: new Date(time.now() - Math.ceil(now() - asOf)) }),
    }
  }

  return async (sources, { plans, options, budget = { left: MAX_PAGE_BYTES }, rows = (whole) => whole }) => {
    const { cursor, signal, onDamaged } = options
    const isWhole = await completeness.begin(sources, plans)
    return Promise.all(
      plans.map(async (plan) => {
        const handleOnce = onceForEach(damagedHandler(onDamaged, sources.view))
        const { page, reader, damaged, missing } = await protectedReads.read(
          sources,
          { plan, signal },
          async (guard, isLast) => {
            const list = createDamagedList(handleOnce)
            const left = sources.view.skipping?.begin()
            const whole = wholeReader(sources, plan, { handleDamaged: list.handle, leaveOut: left?.leaveOut })
            const made = rows(guarded(whole, guard))
            const ports = skippingScans(made, sources.view, left)
            const run = (counted: ByteBudget): Promise<QueryPage> =>
              runQuery(ports, plan, { cursor, signal, budget: counted })
            const found = await (isLast ? run(budget) : withRefund(budget, run))
            return { page: found, reader: made, damaged: list, missing: left }
          },
        )
        const { rowsDiscarded } = page.cost
        if (rowsDiscarded > 0)
          events.happened({ kind: 'discarded', index: sources.entries[0]!.name, rows: rowsDiscarded })
        const found = reader.costOf === undefined ? page.cost : reader.costOf(page.cost)
        const cost = costWithout(damaged.addTo(judge(found, sources, isWhole())), missing)
        if (cost.entitiesRead > 0 || !cost.complete) events.entitiesRead(cost.entitiesRead, cost.complete)
        return cost === page.cost ? page : { ...page, cost }
      }),
    )
  }
}

/** Gives the bytes that the work has taken back to the budget if it fails, because other pages share them. */
async function withRefund<Result>(
  budget: ByteBudget,
  work: (counted: ByteBudget) => Promise<Result>,
): Promise<Result> {
  let taken = 0
  try {
    return await work({
      get left() {
        return budget.left
      },
      set left(left) {
        taken += budget.left - left
        budget.left = left
      },
    })
  } catch (error) {
    budget.left += taken
    throw error
  }
}

/** Collects the damaged entities that a page leaves out. */
function createDamagedList(handle: ((error: LooseleafError) => void) | undefined): {
  readonly handle: ((error: LooseleafError) => void) | undefined
  addTo(cost: QueryCost): QueryCost
} {
  const damaged = new Set<EntityId>()
  return {
    handle:
      handle &&
      ((error) => {
        if (error.entity !== undefined) damaged.add(error.entity)
        handle(error)
      }),
    addTo: (cost) => (damaged.size === 0 ? cost : { ...cost, damaged: [...damaged] }),
  }
}
