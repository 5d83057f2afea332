import { isLooseleafError, LooseleafError, type CallOptions, type Shard } from '@looseleaf/core'
import { elapsedBy } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'

/** Milliseconds after which the lease of a dead process ends. One process at a time adds or drops indexes. */
const LEASE_MS = 60_000
const TASK = 'catalog'
const RETRY_MS = 250

/** Works under the lease of the catalog. Throws `SHARD_BUSY` if another process has it for two minutes. */
export async function exclusively<T>(
  context: EngineContext,
  options: CallOptions,
  work: () => Promise<T>,
): Promise<T> {
  const { tasks, name } = context.driver.shards[0] as Shard
  const owner = context.random.uuid()
  const elapsed = elapsedBy(context.time)
  const deadline = elapsed() + 2 * LEASE_MS

  /** Claims the lease. A claim whose answer was lost is repeated, since claims of one owner are idempotent. */
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
    // The outcome of the work counts. If the lease cannot be released, it expires.
    await tasks.save(TASK, owner, '', 0).catch(() => undefined)
  }
}
