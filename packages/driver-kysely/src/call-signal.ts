import { AsyncLocalStorage } from 'node:async_hooks'

const signals = new AsyncLocalStorage<AbortSignal>()

/** Runs the work of a call whose signal `callSignal` gives to whoever is asked for a connection meanwhile. */
export function withCallSignal<T>(signal: AbortSignal | undefined, work: () => T): T {
  return signal === undefined ? work() : signals.run(signal, work)
}

/**
 * The signal of the call that needs a connection: a driver that keeps calls waiting lets go of one whose signal fires.
 * Kysely hands no signal on where it begins a transaction, and where it does, it no longer waits for the statement, whose
 * connection is not free before its end.
 */
export function callSignal(): AbortSignal | undefined {
  return signals.getStore()
}
