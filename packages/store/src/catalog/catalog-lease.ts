import { elapsedBy, isLooseleafError, LooseleafError, type CallOptions, type Shard } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine'

/** One process at a time adds or drops indexes; a dead one is waited for this long. */
const LEASE_MS = 60_000
const TASK = 'catalog'
const RETRY_MS = 250

/** Does something to the indexes of a store while no other process does. Throws `SHARD_BUSY` when none gets done. */
export async function exclusively<T>(
  context: EngineContext,
  options: CallOptions,
  work: () => Promise<T>,
): Promise<T> {
  const { tasks, name } = context.driver.shards[0] as Shard
  const owner = context.random.uuid()
  const elapsed = elapsedBy(context.time)
  const deadline = elapsed() + 2 * LEASE_MS

  /** A claim whose answer was lost is made again: for the same owner it makes no difference how often. */
  async function claim(): Promise<boolean> {
    try {
      return (await tasks.claim(TASK, owner, LEASE_MS, options)) !== undefined
    } catch (error) {
      if (isLooseleafError(error) && error.unknownOutcome) return false
      throw error
    }
  }

  while (!(await claim())) {
    if (elapsed() > deadline) {
      throw new LooseleafError('SHARD_BUSY', 'Another process is changing the indexes of this store.', {
        shard: name,
      })
    }
    await context.time.sleep(RETRY_MS, options.signal)
  }
  try {
    return await work()
  } finally {
    // What the work has come to counts; a lease that cannot be given up runs out.
    await tasks.save(TASK, owner, '', 0).catch(() => undefined)
  }
}
