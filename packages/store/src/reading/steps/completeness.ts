import { elapsedBy, isOutage } from '@looseleaf/core/internal'
import { presentNumbers, type EngineContext, type QueryPlan } from '@looseleaf/index-engine/internal'
import { createAge } from '@looseleaf/protocol/internal'
import { createCatalogWatch } from '../../catalog/catalog-watch.ts'
import { LayoutChanged } from '../../catalog/layout-changed.ts'
import type { ReadView, ReplicaReads } from '../freshness/replica-reads.ts'
import type { Sources } from './read.ts'

type Planned = readonly Pick<QueryPlan, 'shards' | 'placement'>[]

/** Tells whether the index rows that a call reads lack no committed entity. */
export interface Completeness {
  /**
   * Keeps the catalog current to some seconds. Returns true if rows of committed entities may be pending. Throws `LayoutChanged` if the
   * layout has changed since the plans were made.
   *
   * A move deletes the rows of its source some seconds and `queryTimeMs` after all shards know that they are read elsewhere. So a read is at
   * the right places if its `deadline` began before this call, or if this call comes after it once more.
   */
  mayBePending(view: ReadView, plans: Planned): Promise<boolean>
  /** Begins a read of pages. Returns a check for its end, which is true if the rows lacked no committed entity. */
  begin(sources: Sources, plans: Planned): Promise<() => boolean>
  /**
   * Returns a check whether a read that begins now has taken longer than lost rows are kept (`queryTimeMs`). For a view of replicas the
   * time counts from the state that they have.
   */
  deadline(view: ReadView): () => boolean
}

/** Makes the checks of a store. `primary` has the servers that are asked for pending rows. */
export function createCompleteness(
  context: EngineContext,
  { primary, looks }: Pick<ReplicaReads, 'primary' | 'looks'>,
): Completeness {
  const { driver, time, catalog } = context
  const now = elapsedBy(time)
  const watch = createCatalogWatch(context, looks)

  /** Returns true if any shard has pending rows of these indexes, or does not answer. */
  async function hasPending({ view, entries }: Sources): Promise<boolean> {
    const tables = [...new Set(entries.map(({ table }) => table))]
    const answers = await Promise.allSettled(
      presentNumbers(driver).flatMap((shard) =>
        tables.map((table) => {
          const { pending, answers: answersOf } = primary.lanes(shard)
          const ask = (): Promise<boolean> => pending.submit(table)
          return view.skipping === undefined ? ask() : answersOf.bounded(ask)
        }),
      ),
    )
    return answers.some((answer) => answer.status === 'rejected' || answer.value)
  }

  const firstShard = (plans: Planned): number => plans[0]?.shards[0] ?? presentNumbers(driver)[0]!

  async function mayBePending(view: ReadView, plans: Planned): Promise<boolean> {
    const isPending = await (view.skipping === undefined ? look(view, plans) : lookAnywhere(plans))
    const { placement } = catalog.current()
    if (plans.some((plan) => plan.placement !== placement)) throw new LayoutChanged()
    return isPending
  }

  async function look(view: ReadView, plans: Planned): Promise<boolean> {
    try {
      return await watch.mayBePending(firstShard(plans))
    } catch (error) {
      // Replicas serve only while no rows may be deferred, so a call that reads replicas alone goes on without its primary.
      const areReplicas = plans.every(({ shards }) => shards.every((shard) => view.isReplica(shard)))
      if (areReplicas && isOutage(error)) return false
      throw error
    }
  }

  /** Looks at a shard of the plans, or at another one if that does not answer: one answer is enough. Returns true if none does. */
  async function lookAnywhere(plans: Planned): Promise<boolean> {
    const first = firstShard(plans)
    const lookAt = (number: number): Promise<boolean> =>
      primary.lanes(number).answers.bounded(() => watch.mayBePending(number))
    try {
      return await lookAt(first)
    } catch (error) {
      if (!isOutage(error)) throw error
    }
    for (const number of presentNumbers(driver)) {
      if (number === first) continue
      try {
        return await lookAt(number)
      } catch (error) {
        if (!isOutage(error)) throw error
      }
    }
    return true
  }

  function deadline(view: ReadView): () => boolean {
    const { queryTimeMs } = catalog.current()
    const isOld = createAge(time, queryTimeMs)
    return () => isOld() || now() - (view.asOf() ?? Infinity) >= queryTimeMs
  }

  return {
    mayBePending,
    async begin(sources, plans) {
      const { view } = sources
      const isTooLong = deadline(view)
      // Asked before rows are read: rows that are no longer pending by then are in their tables.
      const isIndexed = !(await mayBePending(view, plans)) || !(await hasPending(sources))
      return () => isIndexed && !isTooLong()
    },
    deadline,
  }
}
