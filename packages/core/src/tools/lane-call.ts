import { abortedError } from './time.ts'

/** One `submit` or `submitAll`, until its promise is settled. */
export interface Call<Item, Result> {
  readonly items: readonly Item[]
  readonly results: Result[]
  /** The trace that the call belongs to, see `WorkFor.current`. */
  readonly requester: unknown
  /** Items without a result or an error. */
  pendingItems: number
  aborted: boolean
  failure: { readonly error: unknown } | undefined
  /** Idempotent, like `reject`. */
  resolve(results: Result[]): void
  reject(error: unknown): void
}

export interface QueuedItem<Item, Result> {
  readonly item: Item
  readonly call: Call<Item, Result>
  readonly position: number
}

export function createCall<Item, Result>(
  items: readonly Item[],
  requester: unknown,
  resolve: (results: Result[]) => void,
  reject: (error: unknown) => void,
): Call<Item, Result> {
  return {
    items,
    results: [],
    requester,
    pendingItems: items.length,
    aborted: false,
    failure: undefined,
    resolve,
    reject,
  }
}

/**
 * Creates a call that leaves the lane by `abort` and rejects with `ABORTED` when its signal fires.
 *
 * The functions are passed to `createCall` and never assigned to a property: V8 allocates an assigned function literal among
 * its old objects (decision 47).
 */
export function createAbortableCall<Item, Result>(
  items: readonly Item[],
  requester: unknown,
  resolve: (results: Result[]) => void,
  reject: (error: unknown) => void,
  signal: AbortSignal,
  abort: (call: Call<Item, Result>) => void,
): Call<Item, Result> {
  const stopListening = (): void => signal.removeEventListener('abort', onAbort)
  const call = createCall<Item, Result>(
    items,
    requester,
    (results) => (stopListening(), resolve(results)),
    (error) => (stopListening(), reject(error)),
  )
  function onAbort(): void {
    abort(call)
    reject(abortedError(signal))
  }
  signal.addEventListener('abort', onAbort, { once: true })
  return call
}

/** Ends one item of a call, and settles the call with its last item. */
export function endItem<Item, Result>(call: Call<Item, Result>, failure?: { readonly error: unknown }): void {
  call.failure ??= failure
  if (--call.pendingItems > 0) return
  if (call.failure === undefined) call.resolve(call.results)
  else call.reject(call.failure.error)
}

/** Tells whether the items belong to several calls. The items of one call stand side by side. */
export function areOfSeveralCalls<Item, Result>(items: readonly QueuedItem<Item, Result>[]): boolean {
  return items.length > 1 && items[0]!.call !== items.at(-1)!.call
}
