import { parseId, type CallOptions } from '@looseleaf/core'
import { elapsedBy } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { deleteDelayMs, PARTITIONS, shardAt, type MovedRows } from '@looseleaf/protocol/internal'
import { addLetters, foundLetters } from '../records/dead-letters.ts'
import type { Failing } from '../records/partition-record.ts'
import type { HeldPartition, PartitionLeases } from './partition-leases.ts'

/** Failing changes of entities that have left a shard. The shards that own these retry them, with the states there. */
export interface PassedChanges {
  /** Tells whether a failing change is to be retried on another shard. */
  isOver(change: Failing, partition: HeldPartition): boolean
  /**
   * Passes such changes on. A change stays while its entity has no owner, or while the list of the owner is full, and in a store with
   * `deleteDelayMs` until it was passed on again after that time: a failover of the owner may have lost it. So its handler is called once more
   * with the state there.
   */
  passOn(partitions: readonly HeldPartition[], options: CallOptions): Promise<void>
}

export interface PassedChangesOptions {
  readonly shard: number
  readonly consumer: string
  readonly moved: Pick<MovedRows, 'isOver'>
  readonly leases: Pick<PartitionLeases, 'save'>
}

export function createPassedChanges(
  context: EngineContext,
  { shard, consumer, moved, leases }: PassedChangesOptions,
): PassedChanges {
  const elapsed = elapsedBy(context.time)
  /** Times at which changes were first on the disks of their owners. */
  const passedAt = new WeakMap<Failing, number>()
  const isOver = ({ id }: Failing, { place }: HeldPartition): boolean => moved.isOver(parseId(id), place)

  /** Sends changes to their owners, and returns those that arrived, and are on disk there: this shard forgets them. */
  async function send(changes: readonly Failing[], options: CallOptions): Promise<readonly Failing[]> {
    let { placement } = context.catalog.current()
    const ownerOf = ({ id }: Failing): number => placement.shardOfId(parseId(id))
    // A shard that has lost the entity would take the change up in another partition than that of the entity.
    const hasLeft = (change: Failing): boolean =>
      ownerOf(change) !== shard && placement.isServed(parseId(change.id))
    if (!changes.every(hasLeft)) ({ placement } = await context.catalog.reload(options))
    const sent: Failing[] = []
    for (const [number, some] of Map.groupBy(changes.filter(hasLeft), ownerOf)) {
      const owner = shardAt(context, number)
      const ids = some.map(({ id }) => parseId(id))
      const rows = await owner.entities.checksums(ids, options)
      // A deletion whose tombstone was purged is retried in any partition.
      const partitions = new Map(some.map((change, i) => [change, (rows[i]?.addedId ?? 0) % PARTITIONS]))
      const groups = Map.groupBy(some, (change) => partitions.get(change) as number)
      const placeOf = (partition: number) => ({ shard: number, partition, list: 'moved' as const })
      for (const [partition, letters] of groups)
        await addLetters(context, consumer, placeOf(partition), letters, options)
      await owner.flush(options)
      // Letters that are there after the flush are on disk. A server that has restarted in between may have lost them; they are sent again.
      for (const [partition, letters] of groups)
        sent.push(...(await foundLetters(context, consumer, placeOf(partition), letters, options)))
    }
    return sent
  }

  /** Tells whether a failover of the owner can no longer lose a change that was on its disk at a time. */
  const isSafe = (at: number): boolean => elapsed() - at >= deleteDelayMs(context)
  const isDue = (change: Failing): boolean => isSafe(passedAt.get(change) ?? -Infinity)

  return {
    isOver,
    async passOn(partitions, options) {
      const changesOf = (partition: HeldPartition): Failing[] =>
        [...partition.failing.values()].filter((change) => isOver(change, partition) && isDue(change))
      if (partitions.every((partition) => changesOf(partition).length === 0)) return
      // 1. The owner takes a change up, and hands over a state that was written there.
      // 2. Another process continues here, at a saved place before the change, and hands an older state over.
      await leases.save()
      const held = partitions.filter(({ isHeld }) => isHeld)
      const sent = new Set(await send(held.flatMap(changesOf), options))
      const now = elapsed()
      for (const { failing } of held)
        for (const change of failing.values()) {
          if (!sent.has(change)) continue
          if (isSafe(passedAt.get(change) ?? now)) failing.delete(change.id)
          else passedAt.set(change, now)
        }
      await leases.save()
    },
  }
}
