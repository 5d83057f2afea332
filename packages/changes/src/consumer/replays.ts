import type { CallOptions } from '@looseleaf/core'
import { elapsedBy } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { editLettersOf, readLetters, type StoredLetter } from '../records/dead-letters.ts'
import type { HeldPartition, PartitionLeases } from './partition-leases.ts'
import { MAX_FAILING } from './row-handler.ts'

/** Dead letters of a shard that were marked by `replayDeadLetters`. */
export interface Replays {
  /** Reads the marked letters of these partitions. Returns none while it is too early to read long lists again, see `READS_PART`. */
  readWanted(
    partitions: readonly HeldPartition[],
    options: CallOptions,
  ): Promise<ReadonlyMap<HeldPartition, readonly StoredLetter[]>>
  /** Turns letters into failing changes that are due now. */
  take(partition: HeldPartition, letters: readonly StoredLetter[], options: CallOptions): Promise<void>
}

/** Reading letters takes at most one part in so many of the time: long lists are read less often. */
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
    async readWanted(partitions, options) {
      const began = elapsed()
      if (partitions.length === 0 || began < readsAt) return new Map()
      const numbers = partitions.map(({ number }) => number)
      const letters = await readLetters(context, consumer, shard, numbers, options)
      readsAt = elapsed() + READS_PART * (elapsed() - began)
      const letterLists = partitions.map((partition) => {
        // At most half of the failing changes of a partition are replays, so that new changes proceed.
        const room = Math.max(0, MAX_FAILING / 2 - partition.failing.size)
        const wanted = letters.get(partition.number)?.filter(({ replay }) => replay) ?? []
        return [partition, wanted.slice(0, room)] as const
      })
      return new Map(letterLists.filter(([, wanted]) => wanted.length > 0))
    },
    async take(partition, letters, options) {
      const taken = new Set(letters.map(({ id }) => id))
      for (const { id, version, error, failedAt } of letters)
        partition.failing.set(id, { id, version, attempts: 0, error, failedAt })
      // The change is saved as failing before its letter is removed: a crash in between leaves it in both lists, never in neither.
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
