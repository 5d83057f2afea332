import { AsyncLocalStorage } from 'node:async_hooks'
import { createGate, type Gate } from '@looseleaf/core'
import type { CallTally } from '../failures/call-tally.ts'
import type { CallUnderWay, Observing } from './observing.ts'

/** The calls of a store: lets them in until it is closed, and tells who observes it. */
export interface StoreCalls extends Pick<Gate, 'checkOpen' | 'close' | 'underWay'> {
  /** Does the work of a call of this name; rejects with `CLOSED` once `close` was called. `index`: the name of the one that it asks. */
  pass<T>(name: string, work: () => Promise<T>, index?: string): Promise<T>
  /** Does work of several calls as if it were one: once it has begun, its calls are let in. */
  hold<T>(work: () => Promise<T>): Promise<T>
  /**
   * `pass` in parts, for calls so short that its promise would show: what `begin` answers goes to `within`, which does the work, and to `end`,
   * whatever came of it. Throws `CLOSED` once `close` was called.
   */
  begin(name: string, index?: string): CallUnderWay | undefined
  within<T>(under: CallUnderWay | undefined, work: () => T): T
  /** `failed`: what the work has thrown. */
  end(under: CallUnderWay | undefined, failed?: { readonly error: unknown }): void
}

export function createStoreCalls(observing: Observing, tally: CallTally): StoreCalls {
  const gate = createGate('The store is closed.')
  const holding = new AsyncLocalStorage<{ isUnderWay: boolean }>()
  let held = 0

  function enter(): void {
    // Asked only where it can matter.
    if (held > 0 && holding.getStore()?.isUnderWay) gate.enterWithin()
    else gate.enter()
  }

  function begin(name: string, index?: string): CallUnderWay | undefined {
    enter()
    return observing.begin(name, index)
  }

  function within<T>(under: CallUnderWay | undefined, work: () => T): T {
    return under === undefined ? work() : observing.within(under, work)
  }

  function end(under: CallUnderWay | undefined, failed?: { readonly error: unknown }): void {
    tally.ended()
    if (failed !== undefined) tally.failed(failed.error)
    if (under !== undefined) observing.end(under, failed)
    gate.leave()
  }

  return {
    get underWay() {
      return gate.underWay
    },
    checkOpen: gate.checkOpen,
    close: gate.close,
    begin,
    within,
    end,
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
    async pass(name, work, index) {
      const under = begin(name, index)
      let failed: { readonly error: unknown } | undefined
      try {
        return await within(under, work)
      } catch (error) {
        failed = { error }
        throw error
      } finally {
        end(under, failed)
      }
    },
  }
}
