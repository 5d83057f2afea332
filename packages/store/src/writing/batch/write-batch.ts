import { formatId, isLooseleafError, type CallOptions } from '@looseleaf/core'
import type { WriteOutcome } from '../entity-writer.ts'
import { putResult } from '../put-result.ts'
import { itemError } from './batch-errors.ts'
import type { PreparedWrite } from './batch-item.ts'
import type { TakenItem } from './take-items.ts'

/** Writes a batch, and returns the results of its items. Writes of kinds may prepare it, and remove what is in its way. */
export async function writeBatch(
  items: readonly TakenItem[],
  write: (items: readonly TakenItem[]) => Promise<readonly WriteOutcome[]>,
  token: () => string,
  { signal }: CallOptions,
): Promise<readonly unknown[]> {
  const ofKinds = items.flatMap((item) => item.write ?? [])
  await Promise.all(items.map(readyItem))
  const ids = new Set(items.map(({ id }) => formatId(id)))
  const outcomes = await untilWritten(() => write(items), ids, ofKinds, signal)
  return items.map(({ id, resultOf }, place) => {
    const outcome = outcomes[place]!
    return resultOf({ ...putResult(id, outcome, token()), written: outcome.written })
  })
}

async function readyItem({ name, write }: TakenItem, place: number): Promise<void> {
  try {
    await write?.ready()
  } catch (error) {
    throw itemError(place, name, error)
  }
}

async function untilWritten(
  write: () => Promise<readonly WriteOutcome[]>,
  ids: ReadonlySet<string>,
  ofKinds: readonly PreparedWrite<unknown>[],
  signal: AbortSignal | undefined,
): Promise<readonly WriteOutcome[]> {
  for (;;) {
    try {
      return await write()
    } catch (error) {
      // A holder that is an item of the batch is no obstacle that a write before the batch could remove.
      const isWithin = isLooseleafError(error, 'DUPLICATE_KEY') && ids.has(error.holder)
      if (isWithin) throw error
      let isRemoved = false
      for (const kind of ofKinds) isRemoved ||= await kind.removesObstacle(error, signal)
      if (!isRemoved) throw error
    }
  }
}
