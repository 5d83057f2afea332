import { AsyncLocalStorage } from 'node:async_hooks'
import { throwIfAborted, withCaller, type Gate } from '@looseleaf/core/internal'
import { MAX_CALLS, type RemovalCheck } from './removed-shards.ts'
import type { CallTally } from '../failures/call-tally.ts'
import type { CallUnderWay, Observing } from './observing.ts'

/** Accepts the calls of a store until it is closed, counts them, and reports them to its observers. */
export interface StoreCalls extends Pick<Gate, 'checkOpen' | 'close' | 'inFlight'> {
  /**
   * Runs the work of a call with this name, on this index, and again if it failed because of a removed shard. Rejects with `CLOSED` after
   * `close`, and with `ABORTED`, without any work, if the signal has fired before.
   */
  pass<T>(name: string, work: () => Promise<T>, index?: string, signal?: AbortSignal): Promise<T>
  /** Finds out in the background whether this error of a call that did not fail because of it is of a removed shard. */
  noticeFailure(error: unknown): void
  /** Runs work that makes several calls as one call. Its calls are accepted even after `close`. */
  hold<T>(work: () => Promise<T>): Promise<T>
}

export function createStoreCalls(
  gate: Gate,
  observing: Observing,
  tally: CallTally,
  isOfRemovedShard: RemovalCheck,
): StoreCalls {
  const holding = new AsyncLocalStorage<{ isUnderWay: boolean }>()
  let held = 0

  function enter(): void {
    // Reading the asynchronous context costs time, so it is read only while work is held.
    if (held > 0 && holding.getStore()?.isUnderWay) gate.enterWithin()
    else gate.enter()
  }

  function end(under: CallUnderWay | undefined, failed?: { readonly error: unknown }): void {
    tally.ended()
    if (failed !== undefined) tally.failed(failed.error)
    if (under !== undefined) observing.end(under, failed)
    gate.leave()
  }

  return {
    get inFlight() {
      return gate.inFlight
    },
    checkOpen: gate.checkOpen,
    noticeFailure: (error) => observing.detached(() => void isOfRemovedShard(error, undefined)),
    close: gate.close,
    async hold(work) {
      enter()
      held++
      const hold = { isUnderWay: true }
      try {
        return await holding.run(hold, work)
      } finally {
        hold.isUnderWay = false
        held--
        gate.leave()
      }
    },
    async pass(name, work, index, signal) {
      enter()
      const under = observing.begin(name, index)
      let failed: { readonly error: unknown } | undefined
      try {
        throwIfAborted(signal)
        for (let calls = 1; ; calls++) {
          try {
            return await (under === undefined ? work() : observing.within(under, work))
          } catch (error) {
            if (calls === MAX_CALLS || !(await isOfRemovedShard(error, signal))) throw error
          }
        }
      } catch (thrown) {
        const error = withCaller(thrown)
        failed = { error }
        throw error
      } finally {
        end(under, failed)
      }
    },
  }
}
