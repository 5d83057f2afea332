import { isLooseleafError, type Time } from '@looseleaf/core'
import type { HeldPartition, PartitionLeases } from './partition-leases.ts'

/** The partitions of a shard with work in flight. A busy partition begins nothing else, and it is not released. */
export interface BusyPartitions {
  /** Returns the held partitions that are not busy. */
  idle(): readonly HeldPartition[]
  numbers(): ReadonlySet<number>
  /** Marks a partition as busy until this work has ended. Resolves then, also if the work fails. */
  occupy(number: number, begin: () => Promise<unknown>): Promise<unknown>
  /** Waits for work, up to `forMs` milliseconds, and renews the leases while it waits. */
  wait(begun: readonly Promise<unknown>[], forMs: number): Promise<void>
  /** Resolves when no partition is busy. */
  settled(): Promise<void>
}

export function createBusyPartitions(
  time: Time,
  leases: Pick<PartitionLeases, 'held' | 'save'>,
  leaseMs: number,
  onError: (error: unknown) => void,
): BusyPartitions {
  /** Work in flight by partition number. */
  const busy = new Map<number, Promise<unknown>>()

  async function waitWithLeases(work: Promise<unknown>, forMs = Infinity): Promise<void> {
    const over = new AbortController()
    const end = (): void => over.abort()
    void work.then(end, end)
    if (Number.isFinite(forMs)) void time.sleep(forMs, over.signal).then(end, () => {})
    while (!over.signal.aborted) {
      await time.sleep(leaseMs / 3, over.signal).catch(() => {})
      // A failed renewal needs no action here: the next handler notices that the leases are no longer sure.
      if (!over.signal.aborted)
        await leases.save().catch((error: unknown) => isLooseleafError(error, 'CLOSED') && end())
    }
  }

  return {
    idle: () => leases.held.filter(({ number }) => !busy.has(number)),
    numbers: () => new Set(busy.keys()),
    occupy(number, begin) {
      // An error is only reported here: the place does not move, so the rows come again.
      const work = begin().catch(onError)
      busy.set(number, work)
      void work.then(() => void (busy.get(number) === work && busy.delete(number)))
      return work
    },
    async wait(begun, forMs) {
      if (begun.length > 0) await waitWithLeases(Promise.all(begun), forMs)
    },
    async settled() {
      const all = Promise.all(busy.values())
      // In a closed store the leases cannot be renewed and the first wait ends early, so wait again.
      await waitWithLeases(all)
      await all
    },
  }
}
