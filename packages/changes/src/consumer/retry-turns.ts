import type { Failing } from '../records/partition-record.ts'
import type { HeldPartition } from './partition-leases.ts'

/** Chooses the failing changes of a shard to retry. Partitions take turns, and new changes of a partition go between its retries. */
export interface RetryTurns {
  /**
   * Returns due changes by id, from at most `room(isAnyDue)` of these partitions, those with the oldest turn first. The partitions then
   * rest until `passed`.
   */
  next(partitions: readonly HeldPartition[], room: (isAnyDue: boolean) => number): Map<string, HeldPartition>
  /** Records a retry of this partition, so that the others come before it. */
  tried(partition: HeldPartition): void
  /** Records that new changes of these partitions had their turn, so their changes may be retried again. */
  passed(partitions: readonly HeldPartition[]): void
}

/** Changes per round of retries, for all partitions together. */
const RETRIES = 100

/** Creates the turns of a shard. `due` returns the due changes of a partition, longest wait first. */
export function createRetryTurns(due: (partition: HeldPartition) => readonly Failing[]): RetryTurns {
  let turn = 0
  const lastTurn = new WeakMap<HeldPartition, number>()
  const resting = new WeakSet<HeldPartition>()
  const turnOf = (partition: HeldPartition): number => lastTurn.get(partition) ?? 0
  const tried = (partition: HeldPartition): void => void lastTurn.set(partition, ++turn)

  return {
    tried,
    next(partitions, room) {
      const ready = partitions
        .filter((partition) => !resting.has(partition))
        .toSorted((a, b) => turnOf(a) - turnOf(b))
        .map((partition) => ({ partition, failing: due(partition) }))
        .filter(({ failing }) => failing.length > 0)
      const chosen = ready.slice(0, room(ready.length > 0))
      for (const { partition } of chosen) {
        tried(partition)
        resting.add(partition)
      }
      const perPartition = Math.ceil(RETRIES / chosen.length)
      return new Map(
        chosen.flatMap(({ partition, failing }) =>
          failing.slice(0, perPartition).map(({ id }) => [id, partition] as const),
        ),
      )
    },
    passed(partitions) {
      for (const partition of partitions) resting.delete(partition)
    },
  }
}
