import { isLooseleafError, type DataStore, type EntityId, type ItemOf } from 'looseleaf'
import pLimit from 'p-limit'
import { Job } from './kinds.ts'

export type JobItem = ItemOf<typeof Job>

export interface QueueOptions {
  /** Number of stripes, the same in all processes. A queue of one stripe has one shard for all of its work. Change it while the queue is empty. */
  readonly stripes: number
  /** Milliseconds for which a worker has a job. If it has not finished it by then, another worker takes it. */
  readonly leaseMs: number
  /** Number of attempts after which a job becomes a dead letter. */
  readonly maxAttempts: number
  /** Milliseconds before the second attempt after a failure. Doubles with each further one. */
  readonly backOffMs: number
  /** Clock of the process, in milliseconds. The clocks of all workers have to agree within a fraction of the lease. */
  readonly now?: () => number
}

/** A queue of jobs, each of which is done at least once. Every worker and every process that adds jobs makes its own. */
export function createQueue(store: DataStore, name: string, options: QueueOptions) {
  const { stripes, leaseMs, maxAttempts, backOffMs, now = Date.now } = options
  const jobs = Job.in(store)
  const inMs = (ms: number): Date => new Date(now() + ms)
  const stripeOf = (number: number): string => `${name}/${number % stripes}`
  /** Takes of a stripe run one after the other: at the same time they would want the same jobs, and one of them would get none. */
  const turns = stripesOf(stripes).map(() => pLimit(1))

  /** Resolves with undefined if the job was written since it was taken: its lease has ended, and another worker has it. */
  async function unlessLost<T>(write: Promise<T>): Promise<T | undefined> {
    try {
      return await write
    } catch (error) {
      if (isLooseleafError(error, 'VERSION_MISMATCH') || isLooseleafError(error, 'NOT_FOUND'))
        return undefined
      throw error
    }
  }

  /** Takes due jobs of a stripe. */
  async function take(stripe: string, limit: number): Promise<JobItem[]> {
    const { items } = await jobs.byDue.page({ stripe, due: { lte: inMs(0) } }, { limit })
    const fates = await jobs.updateMany(
      items,
      ({ attempts }) =>
        attempts < maxAttempts
          ? { attempts: attempts + 1, due: inMs(leaseMs) }
          : {
              due: null,
              died: inMs(0),
              failure: 'Its last worker neither finished it nor reported a failure.',
            },
      { fates: true },
    )
    const taken: JobItem[] = []
    for (const fate of fates) {
      if (fate.ok) {
        if (fate.value.due !== null) taken.push(fate.value)
      } else await unlessLost(Promise.reject(fate.error))
    }
    return taken
  }

  return {
    /**
     * Adds a job. While a job with this key is in the queue, adding it again changes nothing, so a caller without an answer may repeat the call.
     * Returns its id.
     */
    async add(key: string, task: string, { delayMs = 0 } = {}): Promise<EntityId> {
      const stripe = stripeOf(numberOf(key))
      const id = jobs.deriveId(key, { stripe })
      try {
        await jobs.insert({ stripe, task, due: inMs(delayMs) }, { id })
      } catch (error) {
        if (!isLooseleafError(error, 'ALREADY_EXISTS')) throw error
      }
      return id
    },

    /**
     * Takes up to `limit` jobs that are due in a stripe. Only one worker gets a job: the others see that its version has changed. A job that was
     * taken too often becomes a dead letter instead, because its workers may have died of it.
     */
    take: (number: number, limit: number): Promise<JobItem[]> =>
      turns[number % stripes]!(() => take(stripeOf(number), limit)),

    /** Deletes a job that is done. Returns false if its lease was lost, so that it may be done once more. */
    finish: async (job: JobItem): Promise<boolean> => (await unlessLost(jobs.delete(job))) ?? false,

    /** Prolongs a lease. Returns the job with its new version; undefined if the lease was lost. */
    extend: (job: JobItem): Promise<JobItem | undefined> =>
      unlessLost(jobs.update(job, { due: inMs(leaseMs) })),

    /** Gives a failed job back: for a later attempt, or as a dead letter after the last one. */
    fail: (job: JobItem, failure: string): Promise<JobItem | undefined> =>
      unlessLost(
        jobs.update(
          job,
          job.attempts < maxAttempts
            ? { due: inMs(backOffMs * 2 ** (job.attempts - 1)), failure }
            : { due: null, died: inMs(0), failure },
        ),
      ),

    /** Returns the dead letters of all stripes, the oldest first in each. */
    async deadLetters(): Promise<JobItem[]> {
      const pages = await Promise.all(
        stripesOf(stripes).map((stripe) => jobs.byDeath.all({ stripe: stripeOf(stripe) })),
      )
      return pages.flat()
    },

    /** Makes a dead letter due again, with all of its attempts. */
    revive: (job: JobItem): Promise<JobItem> =>
      jobs.update(job, { due: inMs(0), died: null, attempts: 0, failure: null }),

    /** Returns the number of jobs that wait or are in work. */
    async size(): Promise<number> {
      const counts = await jobs.byDue.countMany(
        stripesOf(stripes).map((stripe) => ({ stripe: stripeOf(stripe) })),
      )
      return counts.reduce((sum, count) => sum + count, 0)
    },

    stripes,
    leaseMs,
  }
}

export type Queue = ReturnType<typeof createQueue>

const stripesOf = (stripes: number): number[] => Array.from({ length: stripes }, (_, stripe) => stripe)

/** Returns a number that is the same for a key in every process. */
function numberOf(key: string): number {
  let hash = 0
  for (const character of key) hash = (hash * 31 + character.codePointAt(0)!) >>> 0
  return hash
}
