import { elapsedBy, isLooseleafError, LooseleafError, type ErrorCode, type Time } from '@looseleaf/core'
import { createLatencyGauge, type LatencyGauge } from './latency-gauge.ts'
import { createWaits, type ThrottleReason, type Throttled, type Waits } from './waits.ts'

/**
 * Spreads work over time, so that those whom a store is for are served first. One throttle may serve many passes; they share
 * its rate, and what it knows of the shards.
 */
export interface Throttle {
  /**
   * Sends a statement that may be sent again, once the shard has had its rest from those before. It is measured: the slower
   * the shard, the longer its rest. Where the shard is busy with others, the statement is sent again some times, each later
   * than the last. `kindOf` names statements of the answer's kind and size, which take the same time on a shard at rest.
   */
  send<T>(
    shard: number,
    kindOf: (answer: T) => string,
    statement: () => Promise<T>,
    signal: AbortSignal | undefined,
  ): Promise<T>
  /** The same for work of more than a statement, which may wait on purpose: only what it sends by `measured` is measured. */
  work<T>(
    shard: number,
    kind: string,
    work: (measured: Measured) => Promise<T>,
    signal: AbortSignal | undefined,
  ): Promise<T>
  /** Resolves when so many rows that were just read of a shard are paid for. Rejects with `ABORTED` when the signal fires. */
  take(shard: number, rows: number, signal: AbortSignal | undefined): Promise<void>
  /** Rows a page should have at the most, so that no wait is longer than about a second. */
  readonly maxPage: number
  /** What has held the work up most lately, on the shard where it was held up most: work on one shard writes to others. */
  lately(): Throttled
}

/** Sends a statement, and takes in how long that has taken. */
export type Measured = <T>(statement: () => Promise<T>) => Promise<T>

/** How often a statement is sent again that failed because others were at the shard; one that took all of its time, once. */
const AGAIN: Partial<Record<ErrorCode, number>> = { SHARD_BUSY: 4, DEADLINE: 1 }
const FIRST_PAUSE_MS = 250
/** Whoever works on a shard beside others does not wait longer than this for what they have met, in milliseconds. */
const MAX_REST_MS = 2_000

interface ShardState {
  readonly gauge: LatencyGauge
  readonly waits: Waits
  /** The shard is to be left alone until then, by `elapsed`. */
  restsUntil: number
}

/** Without a rate it is the shards alone that say when to wait. */
export function createThrottle(time: Time, rowsPerSecond: number | undefined): Throttle {
  if (rowsPerSecond !== undefined && !(rowsPerSecond > 0)) {
    throw new LooseleafError('BAD_OPTION', '`rowsPerSecond` has to be a number above 0.')
  }
  const elapsed = elapsedBy(time)
  /** When everything taken so far is paid for. */
  let paidAt = -Infinity
  const shards = new Map<number, ShardState>()

  function stateOf(shard: number): ShardState {
    const state = shards.get(shard) ?? {
      gauge: createLatencyGauge(elapsed),
      waits: createWaits(elapsed),
      restsUntil: -Infinity,
    }
    shards.set(shard, state)
    return state
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
    const rest = state.gauge.took(kindOf(answer), now - began)
    state.restsUntil = Math.min(now + MAX_REST_MS, Math.max(now, state.restsUntil) + rest)
    return answer
  }

  async function again<T>(
    state: ShardState,
    work: () => Promise<T>,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    for (let failures = 0; ; failures++) {
      await wait(state, 'latency', state.restsUntil - elapsed(), signal)
      try {
        return await work()
      } catch (error) {
        if (!isLooseleafError(error) || failures >= (AGAIN[error.code] ?? 0)) throw error
        await wait(state, 'lock waits', FIRST_PAUSE_MS * 2 ** failures, signal)
      }
    }
  }

  return {
    maxPage: rowsPerSecond === undefined ? Infinity : Math.max(1, Math.floor(rowsPerSecond)),
    lately() {
      const all = Array.from(shards.values(), ({ waits }) => waits.lately())
      return all.reduce((most, each) => (each.waited > most.waited ? each : most), NOTHING)
    },
    send(shard, kindOf, statement, signal) {
      const state = stateOf(shard)
      return again(state, () => measured(state, kindOf, statement), signal)
    },
    work(shard, kind, work, signal) {
      const state = stateOf(shard)
      const send: Measured = (statement) => measured(state, () => kind, statement)
      return again(state, () => work(send), signal)
    },
    async take(shard, rows, signal) {
      if (rowsPerSecond === undefined) return
      const now = elapsed()
      paidAt = Math.max(paidAt, now) + (rows / rowsPerSecond) * 1000
      await wait(stateOf(shard), 'rowsPerSecond', paidAt - now, signal)
    },
  }
}

const NOTHING: Throttled = { throttledBy: undefined, waited: 0 }

/** Answers of about this size take about the same time: powers of two. */
export function sizeClass(size: number): string {
  return String(size === 0 ? 0 : Math.ceil(Math.log2(size)) + 1)
}
