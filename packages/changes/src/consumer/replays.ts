import { elapsedBy, type CallOptions } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine'
import { editLettersOf, readLetters, type StoredLetter } from '../records/dead-letters.ts'
import type { HeldPartition, PartitionLeases } from './partition-leases.ts'
import { MAX_FAILING } from './row-handler.ts'

/** Dead letters of a shard that somebody wants handled again. */
export interface Replays {
  /** Those of these partitions. Of long lists, which take their time to read, not each time. */
  wanted(
    partitions: readonly HeldPartition[],
    options: CallOptions,
  ): Promise<ReadonlyMap<HeldPartition, readonly StoredLetter[]>>
  /** Makes them failing changes that are due: some at a time, so that others go on. */
  take(partition: HeldPartition, letters: readonly StoredLetter[], options: CallOptions): Promise<void>
}

/** Letters are read for one part in so many of the time. */
const READS_PART = 50

export function createReplays(
  context: EngineContext,
  consumer: string,
  shard: number,
  leases: Pick<PartitionLeases, 'save'>,
): Replays {
  const elapsed = elapsedBy(context.time)
  let readsAt = -Infinity

  return {
    async wanted(partitions, options) {
      const began = elapsed()
      if (partitions.length === 0 || began < readsAt) return new Map()
      const numbers = partitions.map(({ number }) => number)
      const letters = await readLetters(context, consumer, shard, numbers, options)
      readsAt = elapsed() + READS_PART * (elapsed() - began)
      const own = partitions.map((partition) => {
        const room = Math.max(0, MAX_FAILING / 2 - partition.failing.size)
        const wanted = letters.get(partition.number)?.filter(({ replay }) => replay) ?? []
        return [partition, wanted.slice(0, room)] as const
      })
      return new Map(own.filter(([, wanted]) => wanted.length > 0))
    },
    async take(partition, letters, options) {
      const taken = new Set(letters.map(({ id }) => id))
      for (const { id, version, error, failedAt } of letters)
        partition.failing.set(id, { id, version, attempts: 0, error, failedAt })
      // Saved among the failing changes first and removed from the letters then: a crash between leaves it in both, never in neither.
      await leases.save(options)
      if (!partition.isHeld) return
      const isTaken = ({ id, replay }: StoredLetter): boolean => replay && taken.has(id)
      await editLettersOf(
        context,
        consumer,
        { shard, partition: partition.number },
        isTaken,
        () => [],
        options,
      )
    },
  }
}
