import { parseId, type CallOptions } from '@looseleaf/core'
import { elapsedBy } from '@looseleaf/core/internal'
import { bucketsOf, type EngineContext } from '@looseleaf/index-engine/internal'
import {
  placeOnRemoved,
  readProgress,
  shardAt,
  type ConsumerProgress,
  type FollowerProgress,
  type Registration,
} from '@looseleaf/protocol/internal'

export interface StoreProgressOptions extends CallOptions {
  /** Called only after the consumer was registered. */
  readonly registration: () => Registration
  /** Milliseconds between two reads of the progress on a shard. */
  readonly everyMs: number
}

/** Progress that was there before and after a flush, so no crash takes it back. */
interface DurableProgress {
  readonly before: ConsumerProgress
  readonly after: ConsumerProgress
}

/**
 * Makes the progress of a consumer on every shard, as all of its processes have saved it. A bucket is handled on a shard once every
 * partition is behind its changes, and no change of one of its entities is retried there: the shard passes failing ones on to the owner. Without
 * this a retry at the source could hand over an older state beside a newer one at the target. A change that was passed on before the bucket
 * came back, and left again, counts as one that is retried.
 */
export function storeProgress(
  context: EngineContext,
  consumer: string,
  { registration, everyMs, signal }: StoreProgressOptions,
): FollowerProgress {
  const elapsed = elapsedBy(context.time)
  const reads = new Map<number, { readonly at: number; readonly progress: Promise<DurableProgress> }>()

  async function read(shard: number): Promise<ConsumerProgress> {
    const progress = await readProgress(context, shard, new Map([[consumer, registration()]]), { signal })
    return progress.get(consumer) as ConsumerProgress
  }

  async function readDurable(shard: number): Promise<DurableProgress> {
    const before = await read(shard)
    await shardAt(context, shard).flush({ signal })
    return { before, after: await read(shard) }
  }

  function progressOn(shard: number): Promise<DurableProgress> {
    const last = reads.get(shard)
    if (last !== undefined && elapsed() - last.at < everyMs) return last.progress
    const progress = readDurable(shard)
    reads.set(shard, { at: elapsed(), progress })
    // The next call asks again.
    progress.catch(() => reads.delete(shard))
    return progress
  }

  return {
    sinceOn: (shard) => registration().floors[shard] ?? 0,
    async hasHandled(shard, bucket, away, id) {
      // A shard is removed only when every consumer is past its last change.
      if (placeOnRemoved(context, shard, undefined) !== undefined) return true
      // The mover waited for this consumer before it deleted rows. A consumer that began later takes the copies. If it waited for its place
      // at the source, the partitions of two shards that have exchanged buckets would wait for each other.
      const kept = away.filter(({ emptied }) => emptied === undefined)
      if (kept.length === 0) return true
      const end = Math.max(...kept.map((record) => record.end))
      // 1. The list of letters at the owner is full, and the owner has taken as many up as it may have. 2. These wait for a change of another
      // entity of their buckets, which finds no room in the list. So a retry waits for those of its own entity alone.
      const isOfThese = (other: string): boolean =>
        id === undefined ? bucketsOf(context.router)?.ofId(parseId(other)) === bucket : other === id
      const isHandled = ({ partitions, failing }: ConsumerProgress): boolean =>
        partitions.every(({ updated }) => updated >= end) &&
        failing.every(({ id: other, passedBehind }) => passedBehind >= end || !isOfThese(other))
      const { before, after } = await progressOn(shard)
      return isHandled(before) && isHandled(after)
    },
  }
}
