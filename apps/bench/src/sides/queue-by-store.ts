import { isLooseleafError, unchanged, type Bag, type DataStore, type EntityId } from 'looseleaf'
import pLimit, { type LimitFunction } from 'p-limit'
import { byDue } from '../workload/indexes.ts'
import type { Side } from './side.ts'

/** Milliseconds of a lease. No job of the benchmark is in work for longer. */
const LEASE_MS = 60_000

/** A job that was taken. */
interface Lease {
  readonly id: EntityId
  readonly version: number
}

/**
 * The queue on a store, as one process of workers has it. A worker reads the ids of due jobs, and gives each a lease if it is still due. Then it
 * finishes each at the version of its lease. Workers of one process take the jobs of a stripe one after the other: at the same time they would
 * want the same jobs. The versions tell the workers of other processes apart.
 */
export function queueByStore(store: DataStore): Required<Pick<Side, 'takeAndFinish'>> {
  const turns = new Map<string, LimitFunction>()

  /** Returns the turns of a stripe: takes of it run one after the other. */
  function turnsOf(stripe: string): LimitFunction {
    const known = turns.get(stripe) ?? pLimit(1)
    turns.set(stripe, known)
    return known
  }

  /** Returns undefined if another process has taken the job. */
  async function lease(id: EntityId): Promise<Lease | undefined> {
    const now = new Date()
    let isDue = false
    const { version } = await store.update(id, (job: Bag) => {
      isDue = (job['due'] as Date) <= now
      return isDue ? { ...job, due: new Date(now.getTime() + LEASE_MS) } : unchanged
    })
    return isDue ? { id, version } : undefined
  }

  async function take(stripe: string, limit: number): Promise<(Lease | undefined)[]> {
    const { items } = await store.queryIds(byDue, { stripe, due: { lte: new Date() } }, { limit })
    return Promise.all(items.map(({ id }) => lease(id)))
  }

  /** Returns false if the lease was lost. */
  async function finish({ id, version }: Lease): Promise<boolean> {
    try {
      await store.update(id, (job: Bag) => ({ ...job, due: new Date() }), { ifVersion: version })
      return true
    } catch (error) {
      if (isLooseleafError(error, 'VERSION_MISMATCH')) return false
      throw error
    }
  }

  return {
    async takeAndFinish(stripe, limit) {
      const leases = await turnsOf(stripe)(() => take(stripe, limit))
      const finished = await Promise.all(leases.map((each) => each !== undefined && finish(each)))
      return finished.filter(Boolean).length
    },
  }
}
