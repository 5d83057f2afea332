import { isLooseleafError } from '../errors/errors.ts'

/**
 * Yields the items of an iteration without an end until the signal fires, and then ends quietly. Yields nothing if the signal fired before.
 * Every other end of the iteration throws as before, such as `CLOSED`. Not for finite iterations: if one of them ended quietly, its loop
 * would take a part of the items for all of them.
 *
 * `return` ends a `next` that waits for an item, as the signal does. A generator by itself would answer `return` after that `next`, so a stream
 * or a subscription that is closed between two items would never end.
 *
 * `begin` makes the iteration, and gets a signal of both ends. `signalOf` is called by the first `next`, which throws its errors.
 */
export function untilSignal<T>(
  signalOf: () => AbortSignal | undefined,
  begin: (ended: AbortSignal) => AsyncIterable<T>,
): AsyncGenerator<T, void, undefined> {
  const ended = new AbortController()
  const items = itemsUntil(ended, signalOf, begin(ended.signal))
  return {
    next: () => items.next(),
    return() {
      ended.abort()
      return items.return()
    },
    throw(error) {
      ended.abort()
      return items.throw(error)
    },
    [Symbol.asyncIterator]() {
      return this
    },
    async [Symbol.asyncDispose]() {
      await this.return()
    },
  }
}

async function* itemsUntil<T>(
  ended: AbortController,
  signalOf: () => AbortSignal | undefined,
  items: AsyncIterable<T>,
): AsyncGenerator<T, void, undefined> {
  const signal = signalOf()
  if (signal?.aborted) return
  const onAbort = (): void => ended.abort(signal?.reason)
  signal?.addEventListener('abort', onAbort, { once: true })
  try {
    for await (const item of items) {
      if (ended.signal.aborted) return
      yield item
    }
  } catch (error) {
    if (!ended.signal.aborted || !isLooseleafError(error, 'ABORTED')) throw error
  } finally {
    signal?.removeEventListener('abort', onAbort)
  }
}
