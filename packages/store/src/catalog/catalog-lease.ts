import { isLooseleafError, LooseleafError, type CallOptions } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { leadingShard, releaseLease, underLease, untilFree } from '@looseleaf/protocol/internal'

/** Milliseconds after which the lease of a dead process ends. */
const LEASE_MS = 60_000
const TASK = 'catalog'
const RETRY_MS = 250

/**
 * Runs `work` under the lease that only one process has to add or drop indexes. `work` gets a function that renews the lease, and tells whether no
 * other process has had it since. Throws `SHARD_BUSY` if another one keeps it for two minutes.
 */
export async function exclusively<T>(
  context: EngineContext,
  options: CallOptions,
  work: (renew: () => Promise<boolean>) => Promise<T>,
): Promise<T> {
  const { tasks, name } = leadingShard(context)
  const owner = context.random.uuid()
  /** True if a claim may have been made although it failed. */
  let mayHold = false

  /** Claims the lease. A claim whose answer was lost is repeated, since claims of one owner are idempotent. */
  async function claim(): Promise<boolean> {
    try {
      return (await tasks.claim(TASK, owner, LEASE_MS, options)) !== undefined
    } catch (error) {
      mayHold ||= isLooseleafError(error) && (error.unknownOutcome || error.code === 'ABORTED')
      if (isLooseleafError(error) && error.unknownOutcome) return false
      throw error
    }
  }

  const held = { tasks, task: TASK, owner }
  try {
    await untilFree(claim, {
      time: context.time,
      everyMs: RETRY_MS,
      forMs: 2 * LEASE_MS,
      busy: () =>
        new LooseleafError('SHARD_BUSY', 'Another process is changing the indexes of this store.', {
          shard: name,
        }),
      signal: options.signal,
    })
  } catch (error) {
    // Otherwise no process could change the indexes for a minute.
    if (mayHold) await releaseLease(held, '')
    throw error
  }
  const renew = (): Promise<boolean> => tasks.save(TASK, owner, '', LEASE_MS, options)
  return underLease(
    held,
    () => work(renew),
    () => '',
  )
}
