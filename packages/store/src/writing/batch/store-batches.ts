import type { CallOptions } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import type { EntityCache } from '../../reading/freshness/entity-cache.ts'
import type { ReplicaReads } from '../../reading/freshness/replica-reads.ts'
import type { WriteOutcome } from '../entity-writer.ts'
import type { RowRemovals } from '../row-removals.ts'
import type { BatchItem, BatchOptions } from './batch-item.ts'
import type { BatchWriter } from './batch-writer.ts'
import { takeItems, type TakenItem } from './take-items.ts'
import { writeBatch } from './write-batch.ts'

/** Returns the work of a call of `batch`. Checks and copies the items at once, and writes the same ones whenever it is called. */
export type TakeBatch = (
  items: readonly BatchItem[],
  options: BatchOptions,
) => () => Promise<readonly unknown[]>

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

  return (items, options) => {
    const taken = takeItems(context, items, options.near)
    return () =>
      writeBatch(
        taken,
        () => write(taken, options),
        () => replicas.sessionToken(),
        options,
      )
  }
}
