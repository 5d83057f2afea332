import { isLooseleafError } from '@looseleaf/core'
import { backOffMs } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import type { MoveOptions } from './move-options.ts'

/** Failures in a row, without any progress in between, after which the work rejects. */
const MAX_FAILURES = 6

/**
 * Does repeatable work again after failures of shards, with growing pauses, which `onRetry` is told of. Rejects after six failures in a row, and with any other
 * error. Failures before an increase of `progress` do not count.
 */
export async function withRetries<T>(
  { time }: EngineContext,
  { signal, onRetry }: Pick<MoveOptions, 'signal' | 'onRetry'>,
  work: () => Promise<T>,
  progress: () => number = () => 0,
): Promise<T> {
  let reached = 0
  for (let failures = 0; ;) {
    try {
      return await work()
    } catch (error) {
      const mayPass = isLooseleafError(error) && error.retryable && error.code !== 'CONFLICT'
      failures = progress() > reached ? 1 : failures + 1
      reached = Math.max(reached, progress())
      if (!mayPass || failures >= MAX_FAILURES) throw error
      const pauseMs = backOffMs(failures, { firstMs: 500, maxMs: 10_000 })
      onRetry?.(error, pauseMs)
      await time.sleep(pauseMs, signal)
    }
  }
}
