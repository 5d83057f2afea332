import { LooseleafError, parseId, type CallOptions, type Shard } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { deleteDelayMs, PARTITIONS, placeAt, shardAt, type MovedRows } from '@looseleaf/protocol/internal'
import { addLetters, foundLetters } from '../records/dead-letters.ts'
import type { Failing, PassedOn } from '../records/partition-record.ts'
import type { HeldPartition, PartitionLeases } from './partition-leases.ts'

/** Failing changes of entities that have left a shard. The shards that own these retry them, with the states there. */
export interface PassedChanges {
  /** Tells whether a failing change is to be retried on another shard. */
  isOver(change: Failing, partition: HeldPartition): boolean
  /** Returns the number of failing changes of a partition, without those that were passed on and stay only because a failover may lose them. */
  countOpen(partition: HeldPartition): number
  /** Returns those of these partitions that have such changes to pass on now, by the buckets that the shard has now. */
  due(partitions: readonly HeldPartition[], options: CallOptions): Promise<readonly HeldPartition[]>
  /**
   * Passes such changes on, of partitions that `due` has returned and that begin no handler meanwhile. A change stays while its entity has no
   * owner, or while the list of the owner is full. In a store with `deleteDelayMs` it stays until it was passed on again to the same owner
   * after that time, because a failover of the owner may have lost it. So its handler is called once more with the state there. Other shards
   * do not wait for a change that was passed on once. Rejects if an owner does not answer, and with `SHARD_BUSY` if a list is full.
   */
  passOn(partitions: readonly HeldPartition[], options: CallOptions): Promise<void>
}

export interface PassedChangesOptions {
  readonly shard: number
  readonly consumer: string
  readonly moved: Pick<MovedRows, 'isOver' | 'learn'>
  readonly leases: Pick<PartitionLeases, 'save'>
}

export function createPassedChanges(
  context: EngineContext,
  { shard, consumer, moved, leases }: PassedChangesOptions,
): PassedChanges {
  const isOver = ({ id }: Failing, { place }: HeldPartition): boolean => moved.isOver(parseId(id), place)

  /**
   * Returns where a change was passed on since its entity has left; undefined if it was not. Before that the entity may have left once, and
   * come back.
   */
  const passedOf = ({ id, passed }: Failing): PassedOn | undefined =>
    passed !== undefined && moved.isOver(parseId(id), placeAt(passed.behind)) ? passed : undefined

  /** Tells whether a failover of the shard can no longer lose a change that was passed on. A time ahead of the clock tells nothing. */
  const isSafe = ({ at }: PassedOn): boolean => {
    const now = context.time.now()
    return at <= now && now - at >= deleteDelayMs(context)
  }
  const isDue = (change: Failing): boolean => {
    const passed = passedOf(change)
    return passed === undefined || passed.at > context.time.now() || isSafe(passed)
  }

  /** Returns the changes of a partition that are to be sent now. */
  const changesOf = (partition: HeldPartition): readonly Failing[] =>
    [...partition.failing.values()].filter((change) => isOver(change, partition) && isDue(change))

  /** Sends changes to their owner, and returns those that arrived, and are on disk there. Adds an error for each full list to `failures`. */
  async function sendTo(
    number: number,
    changes: readonly Failing[],
    failures: unknown[],
    options: CallOptions,
  ): Promise<readonly Failing[]> {
    const owner = shardAt(context, number)
    const ids = changes.map(({ id }) => parseId(id))
    const rows = await owner.entities.checksums(ids, options)
    // A deletion whose tombstone was purged is retried in any partition.
    const partitions = new Map(changes.map((change, i) => [change, (rows[i]?.addedId ?? 0) % PARTITIONS]))
    const groups = Map.groupBy(changes, (change) => partitions.get(change) as number)
    const placeOf = (partition: number) => ({ shard: number, partition, list: 'moved' as const })
    for (const [partition, letters] of groups) {
      const added = await addLetters(context, consumer, placeOf(partition), letters, options)
      if (added.includes(false)) failures.push(fullList(owner, partition))
    }
    await owner.flush(options)
    // Letters that are there after the flush are on disk. A server that has restarted in between may have lost them; they are sent again.
    const sent: Failing[] = []
    for (const [partition, letters] of groups)
      sent.push(...(await foundLetters(context, consumer, placeOf(partition), letters, options)))
    return sent
  }

  /** Sends changes to their owners. Returns the numbers of the owners of those that arrived, and the errors of owners that took none. */
  async function send(
    changes: readonly Failing[],
    options: CallOptions,
  ): Promise<{ readonly sent: ReadonlyMap<Failing, number>; readonly failures: readonly unknown[] }> {
    // By an earlier layout, a process that slept would pass a change to a shard that has left the store since.
    const { placement } = await context.catalog.reload(options)
    const ownerOf = ({ id }: Failing): number => placement.shardOfId(parseId(id))
    // A shard that has lost the entity would take the change up in another partition than that of the entity.
    const hasLeft = (change: Failing): boolean =>
      ownerOf(change) !== shard && placement.isServed(parseId(change.id))
    const sent = new Map<Failing, number>()
    const failures: unknown[] = []
    // Changes that one owner has must not be sent there again and again while another owner does not answer.
    await Promise.all(
      Array.from(Map.groupBy(changes.filter(hasLeft), ownerOf), async ([number, some]) => {
        try {
          for (const change of await sendTo(number, some, failures, options)) sent.set(change, number)
        } catch (error) {
          failures.push(error)
        }
      }),
    )
    return { sent, failures }
  }

  function fullList({ name }: Shard, partition: number): LooseleafError {
    return new LooseleafError(
      'SHARD_BUSY',
      `Consumer ${consumer}: partition ${partition} of ${name} has too many failing changes of moved entities to take more. Other shards keep theirs until it has handled some.`,
      { shard: name },
    )
  }

  return {
    isOver,
    countOpen(partition) {
      const isKept = (change: Failing): boolean => isOver(change, partition) && passedOf(change) !== undefined
      return [...partition.failing.values()].filter((change) => !isKept(change)).length
    },
    async due(partitions, options) {
      const hasDue = (partition: HeldPartition): boolean => changesOf(partition).length > 0
      if (!partitions.some(hasDue)) return []
      // A bucket may have come back since this process has looked.
      await moved.learn((await shardAt(context, shard).entities.floor(options)).epoch)
      return partitions.filter(hasDue)
    },
    async passOn(partitions, options) {
      // 1. The owner takes a change up, and hands over a state that was written there.
      // 2. Another process continues here, at a saved place before the change, and hands an older state over.
      await leases.save()
      const held = partitions.filter(({ isHeld }) => isHeld)
      const behind = new Map(held.map((partition) => [partition, partition.place.updated]))
      const { sent, failures } = await send(held.flatMap(changesOf), options)
      for (const partition of held)
        for (const change of partition.failing.values()) {
          const to = sent.get(change)
          if (to === undefined) continue
          const { id } = change
          const passed = passedOf(change)
          const isKept = deleteDelayMs(context) > 0 && !(passed?.to === to && isSafe(passed))
          if (!isKept) partition.failing.delete(id)
          else
            partition.failing.set(id, {
              ...change,
              passed: { to, at: context.time.now(), behind: behind.get(partition)! },
            })
        }
      await leases.save()
      if (failures.length > 0) throw failures[0]
    },
  }
}
