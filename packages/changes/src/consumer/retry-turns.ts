import type { Failing } from '../records/partition-record.ts'
import type { HeldPartition } from './partition-leases.ts'

/** Which failing changes of a shard are tried again: of all partitions in turn, and new changes of a partition have theirs between. */
export interface RetryTurns {
  /**
   * Some that are due, by id, of as many of these partitions as there is room for, once it is known whether any is: of those first whose turn
   * was longest ago.
   */
  next(partitions: readonly HeldPartition[], room: (isAnyDue: boolean) => number): Map<string, HeldPartition>
  /** One was tried: those of partitions that had to wait for it come before its own. */
  tried(partition: HeldPartition): void
  /** The turn was that of new changes: of these partitions changes may be tried again. */
  passed(partitions: readonly HeldPartition[]): void
}

/** Changes that are tried again at once. */
const RETRIES = 100

/** @param due - of a partition, those first that have waited longest */
export function createRetryTurns(due: (partition: HeldPartition) => readonly Failing[]): RetryTurns {
  let turn = 0
  const lastTurn = new WeakMap<HeldPartition, number>()
  const resting = new WeakSet<HeldPartition>()
  const turnOf = (partition: HeldPartition): number => lastTurn.get(partition) ?? 0
  const tried = (partition: HeldPartition): void => void lastTurn.set(partition, ++turn)

  return {
    tried,
    next(partitions, room) {
      const all = partitions
        .filter((partition) => !resting.has(partition))
        .toSorted((a, b) => turnOf(a) - turnOf(b))
        .map((partition) => ({ partition, failing: due(partition) }))
        .filter(({ failing }) => failing.length > 0)
      const lists = all.slice(0, room(all.length > 0))
      for (const { partition } of lists) {
        tried(partition)
        resting.add(partition)
      }
      const each = Math.ceil(RETRIES / lists.length)
      return new Map(
        lists.flatMap(({ partition, failing }) =>
          failing.slice(0, each).map(({ id }) => [id, partition] as const),
        ),
      )
    },
    passed(partitions) {
      for (const partition of partitions) resting.delete(partition)
    },
  }
}
