import type { Randomness } from '../platform/randomness.ts'

/** Bounds of the pauses before further attempts. */
export interface BackOff {
  /** Pause after the first failure, in milliseconds. It doubles after each further failure. */
  readonly firstMs: number
  /** Longest pause in milliseconds. */
  readonly maxMs: number
  /** Makes each pause a random part of its length, so that several processes do not try again at the same moments. */
  readonly random?: Randomness | undefined
}

/** Bounds for work in the background. The longest pause is also the longest delay of deferred work after its shard is back. */
export const backgroundBackOff: BackOff = { firstMs: 500, maxMs: 10_000 }

/**
 * Returns the pause in milliseconds before the attempt that follows this many failures in a row; 0 for no failure. Pass it to
 * `time.sleep` with a signal, so that the pause can be ended early.
 */
export function backOffMs(failures: number, { firstMs, maxMs, random }: BackOff): number {
  // The bound of the exponent keeps the product finite.
  const pause = failures < 1 ? 0 : Math.min(firstMs * 2 ** Math.min(failures - 1, 52), maxMs)
  return random === undefined ? pause : random.next() * pause
}
