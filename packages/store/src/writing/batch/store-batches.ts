import { formatId, isLooseleafError, type CallOptions } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import type { EntityCache } from '../../reading/freshness/entity-cache.ts'
import type { ReplicaReads } from '../../reading/freshness/replica-reads.ts'
import type { WriteOutcome } from '../entity-writer.ts'
import { putResult } from '../put-result.ts'
import type { RowRemovals } from '../row-removals.ts'
import { itemError } from './batch-errors.ts'
import type { BatchItem, BatchOptions } from './batch-item.ts'
import type { BatchWriter } from './batch-writer.ts'
import { takeItems, type TakenItem } from './take-items.ts'

/** Returns the work of a call of `batch`. Checks and copies the items at once, and writes the same ones whenever it is called. */
export type TakeBatch = (
  items: readonly BatchItem[],
  options: BatchOptions,
) => () => Promise<readonly unknown[]>

/** Makes the function for a store. Writes of kinds may prepare the batch, and remove what is in its way. */
export function createStoreBatches(
  context: EngineContext,
  writer: BatchWriter,
  removals: Pick<RowRemovals, 'isFull' | 'room'>,
  cache: EntityCache | undefined,
  replicas: Pick<ReplicaReads, 'sessionToken'>,
): TakeBatch {
  async function write(items: readonly TakenItem[], options: CallOptions): Promise<readonly WriteOutcome[]> {
    if (removals.isFull) await removals.room()
    try {
      const outcomes = await writer.write(items, options)
      for (const { written } of outcomes) if (written) context.bodies.written()
      return outcomes
    } finally {
      if (cache !== undefined) await Promise.all(items.map(({ id }) => cache.forget(id)))
    }
  }

  async function untilWritten(
    items: readonly TakenItem[],
    options: CallOptions,
  ): Promise<readonly WriteOutcome[]> {
    const ids = new Set(items.map(({ id }) => formatId(id)))
    const ofKinds = items.flatMap((item) => item.write ?? [])
    for (;;) {
      try {
        return await write(items, options)
      } catch (error) {
        // A holder that is an item of the batch is no obstacle that a write before the batch could remove.
        const isWithin = isLooseleafError(error, 'DUPLICATE_KEY') && ids.has(error.holder)
        if (isWithin) throw error
        let isRemoved = false
        for (const kind of ofKinds) isRemoved ||= await kind.removesObstacle(error, options.signal)
        if (!isRemoved) throw error
      }
    }
  }

  return (items, options) => {
    const taken = takeItems(context, items, options.near)
    return async () => {
      await Promise.all(taken.map(readyItem))
      const outcomes = await untilWritten(taken, options)
      return taken.map(({ id, resultOf }, place) => {
        const outcome = outcomes[place]!
        return resultOf({ ...putResult(id, outcome, replicas.sessionToken()), written: outcome.written })
      })
    }
  }
}

async function readyItem({ name, write }: TakenItem, place: number): Promise<void> {
  try {
    await write?.ready()
  } catch (error) {
    throw itemError(place, name, error)
  }
}
