import { isLooseleafError, type ErrorCode, type Time } from '@looseleaf/core'
import { backOffMs, elapsedBy, getOrInsert, type BackOff } from '@looseleaf/core/internal'
import type { LoopShare } from '@looseleaf/index-engine/internal'
import { createLatencyGauge, type LatencyGauge } from './latency-gauge.ts'
import { createWaits, type ThrottleReason, type Throttled, type Waits } from './waits.ts'

/**
 * Spreads cleaning work over time, so that the store's callers are served first. Several passes may share a throttle, with its rate and its
 * measurements of the shards.
 */
export interface Throttle {
  /**
   * Waits until the pause of earlier statements is over, then sends an idempotent statement and measures it: the slower the shard, the longer
   * the next pause. Retries `SHARD_BUSY` up to four times and `DEADLINE` once, with growing pauses. `kindOf` returns a name for the kind and
   * size of the answer; statements of one name take the same time on an idle shard.
   */
  send<T>(
    shard: number,
    kindOf: (answer: T) => string,
    statement: () => Promise<T>,
    signal: AbortSignal | undefined,
  ): Promise<T>
  /** As `send`, for work of several statements that may also wait on purpose. Only statements sent by `measured` are measured. */
  work<T>(
    shard: number,
    kind: string,
    work: (measured: Measured) => Promise<T>,
    signal: AbortSignal | undefined,
  ): Promise<T>
  /**
   * Waits until `rowsPerSecond` allows for this number of rows just read on a shard. Takes them by portions of `maxPage`, so that other work with
   * this throttle waits for a portion, and not for all of them. Rejects with `ABORTED` when the signal fires.
   */
  take(
    shard: number,
    rows: number,
    signal: AbortSignal | undefined,
    waiting?: { readonly everyMs: number; onWait(): Promise<void> },
  ): Promise<void>
  /**
   * Gives way to calls of this process: waits if background work has had its slice of the event loop, see `LoopShare`. Call it between pieces
   * of work on rows, and before a statement that is not sent by `send` or `work`. Returns undefined if there is nothing to wait for.
   */
  rest(signal: AbortSignal | undefined): Promise<void> | undefined
  /**
   * Tells whether background work of the store has lately waited for calls of this process. Its pages are best small then, because a
   * statement is not divided.
   */
  givesWay(): boolean
  /** Largest useful page in rows, so that no wait for `rowsPerSecond` is longer than about a second. */
  readonly maxPage: number
  /** Returns the reason and share of recent waits, on the shard with the longest waits. */
  recentWaits(): Throttled
}

export type Measured = <T>(statement: () => Promise<T>) => Promise<T>

/** Retries by error code: the shard was busy with others, or the statement took all of its time. */
const RETRIES: Partial<Record<ErrorCode, number>> = { SHARD_BUSY: 4, DEADLINE: 1 }
const RETRY_PAUSES: BackOff = { firstMs: 250, maxMs: 2_000 }
/** Longest pause in milliseconds that concurrent work on a shard can accumulate. */
const MAX_PAUSE_MS = 2_000

interface ShardState {
  readonly gauge: LatencyGauge
  readonly waits: Waits
  /** End of the pause, by `elapsed`. */
  pauseUntil: number
}

/**
 * Creates a throttle. Without `rowsPerSecond`, only the latency and lock waits of the shards and calls of this process cause waits. Without
 * `share`, the work is urgent: it gives way to no call of this process.
 */
export function createThrottle(time: Time, rowsPerSecond: number | undefined, share?: LoopShare): Throttle {
  const elapsed = elapsedBy(time)
  const waitsForCalls = createWaits(elapsed)
  /** Time at which the rate allows for more rows, by `elapsed`. */
  let allowedAt = -Infinity
  const shards = new Map<number, ShardState>()
  const maxPage = rowsPerSecond === undefined ? Infinity : Math.max(1, Math.floor(rowsPerSecond))

  function stateOf(shard: number): ShardState {
    return getOrInsert(shards, shard, () => ({
      gauge: createLatencyGauge(elapsed),
      waits: createWaits(elapsed),
      pauseUntil: -Infinity,
    }))
  }

  function rest(signal: AbortSignal | undefined): Promise<void> | undefined {
    return share?.rest(time, signal)?.then((milliseconds) => waitsForCalls.add('calls', milliseconds))
  }

  async function wait(
    { waits }: ShardState,
    reason: ThrottleReason,
    milliseconds: number,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    if (!(milliseconds > 0)) return
    await time.sleep(milliseconds, signal)
    waits.add(reason, milliseconds)
  }

  async function measured<T>(
    state: ShardState,
    kindOf: (answer: T) => string,
    statement: () => Promise<T>,
  ): Promise<T> {
    const began = elapsed()
    const answer = await statement()
    const now = elapsed()
    const pause = state.gauge.record(kindOf(answer), now - began)
    state.pauseUntil = Math.min(now + MAX_PAUSE_MS, Math.max(now, state.pauseUntil) + pause)
    return answer
  }

  async function paced<T>(
    state: ShardState,
    work: () => Promise<T>,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    for (let failures = 0; ; failures++) {
      await wait(state, 'latency', state.pauseUntil - elapsed(), signal)
      const resting = rest(signal)
      if (resting !== undefined) await resting
      try {
        return await work()
      } catch (error) {
        if (!isLooseleafError(error) || failures >= (RETRIES[error.code] ?? 0)) throw error
        await wait(state, 'lock waits', backOffMs(failures + 1, RETRY_PAUSES), signal)
      }
    }
  }

  return {
    givesWay: () => share?.gaveWay() ?? false,
    maxPage,
    recentWaits() {
      const byShard = Array.from(shards.values(), ({ waits }) => waits.recent())
      return [...byShard, waitsForCalls.recent()].reduce(
        (most, other) => (other.waited > most.waited ? other : most),
        NO_WAITS,
      )
    },
    rest,
    send(shard, kindOf, statement, signal) {
      const state = stateOf(shard)
      return paced(state, () => measured(state, kindOf, statement), signal)
    },
    work(shard, kind, work, signal) {
      const state = stateOf(shard)
      const send: Measured = (statement) => measured(state, () => kind, statement)
      return paced(state, () => work(send), signal)
    },
    async take(shard, rows, signal, waiting) {
      if (rowsPerSecond === undefined) return
      for (let left = rows; left > 0; left -= maxPage) {
        const now = elapsed()
        allowedAt = Math.max(allowedAt, now) + (Math.min(left, maxPage) / rowsPerSecond) * 1000
        for (let remaining = allowedAt - now; remaining > 0;) {
          const pause = Math.min(remaining, waiting?.everyMs ?? Infinity)
          await wait(stateOf(shard), 'rowsPerSecond', pause, signal)
          remaining -= pause
          await waiting?.onWait()
        }
      }
    },
  }
}

const NO_WAITS: Throttled = { throttledBy: undefined, waited: 0 }

/** Returns the class of a size, by powers of two. Answers of one class take about the same time. */
export function sizeClass(size: number): string {
  return String(size === 0 ? 0 : Math.ceil(Math.log2(size)) + 1)
}
