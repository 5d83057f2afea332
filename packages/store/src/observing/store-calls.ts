import { createGate, type Gate } from '@looseleaf/core'
import type { Observing } from './observing.ts'

/** The calls of a store: lets them in until it is closed, and tells who observes it. */
export interface StoreCalls extends Pick<Gate, 'checkOpen' | 'close' | 'enter' | 'leave' | 'underWay'> {
  /** Does the work of a call of this name; rejects with `CLOSED` once `close` was called. `index`: the name of the one that it asks. */
  pass<T>(name: string, work: () => Promise<T>, index?: string): Promise<T>
}

export function createStoreCalls(observing: Observing): StoreCalls {
  const gate = createGate('The store is closed.')
  return {
    get underWay() {
      return gate.underWay
    },
    checkOpen: gate.checkOpen,
    enter: gate.enter,
    leave: gate.leave,
    close: gate.close,
    async pass(name, work, index) {
      gate.enter()
      try {
        return await (observing.isWanted ? observing.call({ name, index }, work) : work())
      } finally {
        gate.leave()
      }
    },
  }
}
