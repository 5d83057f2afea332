import { isLooseleafError } from '@looseleaf/core'
import { backOffMs, elapsedBy } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'

/** Failures in a row after which the work rejects. */
const MAX_FAILURES = 6
/** Milliseconds of work without a failure after which the earlier ones do not count any more. */
const FORGOTTEN_MS = 60_000

/** Does repeatable work again after failures of shards, with growing pauses. Rejects after six of them in a row, and with any other error. */
export async function withRetries<T>(
  { time }: EngineContext,
  signal: AbortSignal | undefined,
  work: () => Promise<T>,
): Promise<T> {
  const elapsed = elapsedBy(time)
  for (let failures = 0; ;) {
    const began = elapsed()
    try {
      return await work()
    } catch (error) {
      const mayPass = isLooseleafError(error) && error.retryable && error.code !== 'CONFLICT'
      failures = elapsed() - began > FORGOTTEN_MS ? 1 : failures + 1
      if (!mayPass || failures >= MAX_FAILURES) throw error
      await time.sleep(backOffMs(failures, { firstMs: 500, maxMs: 10_000 }), signal)
    }
  }
}
