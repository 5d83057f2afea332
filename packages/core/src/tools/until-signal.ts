import { isLooseleafError } from '../errors/errors.ts'

/**
 * Yields the items of an iteration without an end until the signal fires, and then ends quietly. Yields nothing if the signal fired before.
 * Every other end of the iteration throws as before, such as `CLOSED`. Not for finite iterations: if one of them ended quietly, its loop
 * would take a part of the items for all of them.
 */
export async function* untilSignal<T>(
  signal: AbortSignal | undefined,
  items: AsyncIterable<T>,
): AsyncGenerator<T, void, undefined> {
  if (signal?.aborted) return
  try {
    for await (const item of items) {
      if (signal?.aborted) return
      yield item
    }
  } catch (error) {
    if (!signal?.aborted || !isLooseleafError(error, 'ABORTED')) throw error
  }
}
