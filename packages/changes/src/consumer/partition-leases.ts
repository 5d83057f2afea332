import { isLooseleafError, type CallOptions } from '@looseleaf/core'
import { elapsedBy, type UpdatedPlace } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import {
  type FollowedPlace,
  partitionNumbers,
  PARTITIONS,
  partitionTask,
  processName,
  REGISTRY_TASK,
  registryFromText,
  shardAt,
} from '@looseleaf/protocol/internal'
import pLimit from 'p-limit'
import { waitingTask } from '../records/names.ts'
import { recordFromText, recordToText, type Failing } from '../records/partition-record.ts'

/** A partition of a shard whose lease this process has. */
export interface HeldPartition {
  readonly number: number
  place: UpdatedPlace
  /** See `FollowedPlace`. */
  since: number
  /** By entity id. */
  readonly failing: Map<string, Failing>
  /** False after another process took over the partition or this one released it; no handler may begin for it then. */
  isHeld: boolean
}

export interface PartitionLeases {
  readonly held: readonly HeldPartition[]
  /** True if no lease can have expired yet, by the clock of this process. */
  readonly isSure: boolean
  /**
   * Renews the leases if they may have expired, and marks partitions that another process took over. Returns whether the leases are valid
   * now. Concurrent calls share one renewal.
   */
  confirm(): Promise<boolean>
  /** Claims free partitions up to a fair share, and releases some to a process that has fewer, but none of `busy`. */
  refresh(busy: ReadonlySet<number>, options: CallOptions): Promise<void>
  /**
   * Saves the places and failing changes of the partitions, and renews their leases. Calls that wait for the same save share it. A stop does
   * not abort it, because that would leave its outcome unknown.
   */
  save(): Promise<void>
  release(): Promise<void>
}

export interface LeaseOptions {
  readonly consumer: string
  readonly leaseMs: number
  /** Returns the incarnation of the registration. Called only after `register` has resolved. */
  readonly incarnation: () => string
  /** Returns the first place of a partition without a record. Throws `NOT_FOUND` if the consumer was dropped. */
  readonly beginning: (options: CallOptions) => Promise<FollowedPlace>
  /** Called when `confirm` could not renew the leases. */
  readonly onError: (error: unknown) => void
}

const isUnanswered = (error: unknown): boolean => isLooseleafError(error) && error.unknownOutcome

/**
 * Creates the leases of a process, with none yet.
 *
 * Records are written in turn, and by another owner once the outcome of a write is unknown. Otherwise an old record could replace a newer one:
 * 1. A save is sent with the failing changes of this moment. It takes long.
 * 2. A letter becomes a failing change. A second save has it and is answered, so the letter is deleted.
 * 3. The first save takes place. The process ends before its next save, and the change is nowhere.
 *
 * A process that has lost or released partitions goes on by another owner, too. Otherwise a save of an ended lease could count as one of the next:
 * 1. A save is sent. The process sleeps, and another one takes the partition over, advances its place and ends.
 * 2. The process claims the partition again, and the first save takes place once more.
 * 3. The process ends. The next one begins at the former place, whose entities may have moved and been deleted.
 */
export function createPartitionLeases(
  context: EngineContext,
  shard: number,
  { consumer, leaseMs, incarnation, beginning, onError }: LeaseOptions,
): PartitionLeases {
  const elapsed = elapsedBy(context.time)
  const tasks = (): ReturnType<typeof shardAt>['tasks'] => shardAt(context, shard).tasks
  const taskOf = (partition: number): string => partitionTask(consumer, partition)
  const held = new Map<number, HeldPartition>()
  let sureUntil = -Infinity
  const isSure = (): boolean => elapsed() < sureUntil
  let owner = context.random.uuid()
  /** True after a write of records without an answer, and after the end of a lease, until `changeOwner`. */
  let needsNewOwner = false
  let isWaiting = false
  /** Writes of records, one at a time. */
  const turn = pLimit(1)
  /** A save that has not begun. */
  let nextSave: Promise<void> | undefined
  let confirming: Promise<boolean> | undefined

  function textsOf(partitions: readonly HeldPartition[]): ReadonlyMap<string, string> {
    return new Map(
      partitions.map(({ number, failing, ...places }) => {
        const record = {
          ...places,
          incarnation: incarnation(),
          failing: [...failing.values()],
          process: processName,
        }
        return [taskOf(number), recordToText(record)]
      }),
    )
  }

  async function write(texts: ReadonlyMap<string, string>, forMs: number): Promise<ReadonlySet<string>> {
    try {
      return await tasks().saveAll(texts, owner, forMs)
    } catch (error) {
      needsNewOwner ||= isUnanswered(error)
      throw error
    }
  }

  async function saveRecords(partitions: readonly HeldPartition[], forMs: number): Promise<void> {
    if (partitions.length === 0) return
    try {
      const kept = await write(textsOf(partitions), forMs)
      drop(partitions.filter(({ number }) => forMs === 0 || !kept.has(taskOf(number))))
    } catch (error) {
      // Another process may have a partition that was released.
      if (forMs === 0 && isUnanswered(error)) drop(partitions)
      throw error
    }
  }

  function drop(partitions: readonly HeldPartition[]): void {
    for (const partition of partitions) {
      partition.isHeld = false
      held.delete(partition.number)
      needsNewOwner = true
    }
  }

  /**
   * Goes on as another owner if the present one may not write any more: its late writes change no record then. The partitions stay with this
   * process, because their handlers may be running. Gives them up if there is no answer once more; the leases expire.
   */
  async function changeOwner(): Promise<void> {
    if (!needsNewOwner) return
    const partitions = [...held.values()]
    const waiting = waitingTask(consumer)
    const texts = new Map([...textsOf(partitions), ...(isWaiting ? [[waiting, ''] as const] : [])])
    const nextOwner = context.random.uuid()
    const become = (next: string, kept: ReadonlySet<string>): void => {
      owner = next
      needsNewOwner = false
      isWaiting = kept.has(waiting)
      drop(partitions.filter(({ number }) => !kept.has(taskOf(number))))
    }
    try {
      become(
        nextOwner,
        texts.size === 0 ? new Set() : await tasks().saveAll(texts, owner, leaseMs, { nextOwner }),
      )
    } catch (error) {
      // Either of the two owners may have the leases.
      if (isUnanswered(error)) become(context.random.uuid(), new Set())
      throw error
    }
  }

  async function saveNow(): Promise<void> {
    const begun = elapsed()
    await saveRecords([...held.values()], leaseMs)
    sureUntil = begun + leaseMs
  }

  function save(): Promise<void> {
    return (nextSave ??= turn(async () => {
      nextSave = undefined
      await changeOwner()
      await saveNow()
    }))
  }

  async function claim(partitions: readonly number[], options: CallOptions): Promise<void> {
    const begun = elapsed()
    // A stop does not abort this call: the claimed partitions must be known, so that they can be released.
    const claimed = await tasks().claimAll(partitions.map(taskOf), owner, leaseMs)
    const untouched = new Map<number, string>()
    const hold = (
      number: number,
      place: UpdatedPlace,
      since: number,
      changes: readonly Failing[] = [],
    ): void => {
      const failing = new Map(changes.map((change) => [change.id, change]))
      held.set(number, { number, place, since, failing, isHeld: true })
    }
    for (const number of partitions) {
      const state = claimed.get(taskOf(number))
      if (state === undefined) continue
      const record = recordFromText(state.progress)
      if (record?.incarnation !== incarnation()) untouched.set(number, state.progress)
      else hold(number, record.place, record.since, record.failing)
    }
    sureUntil =
      held.size + untouched.size > claimed.size ? Math.min(sureUntil, begun + leaseMs) : begun + leaseMs
    if (untouched.size === 0) return
    try {
      const { since, ...place } = await beginning(options)
      for (const number of untouched.keys()) hold(number, place, since)
    } catch (error) {
      const texts = Array.from(untouched, ([number, text]): [string, string] => [taskOf(number), text])
      needsNewOwner = true
      await write(new Map(texts), 0)
      throw error
    }
  }

  /** Reads which partitions are free, how many each process has, and which process waits for a share (with 0 if it has none). */
  async function readShares(options: CallOptions): Promise<{
    readonly free: readonly number[]
    readonly shares: ReadonlyMap<string, number>
    readonly waiter: string | undefined
  }> {
    const waiting = waitingTask(consumer)
    const states = await tasks().loadAll([...partitionNumbers.map(taskOf), waiting, REGISTRY_TASK], options)
    const registered = registryFromText(states.get(REGISTRY_TASK)?.progress ?? '').get(consumer)
    // The consumer was dropped, or this shard was restored from an older copy. The other shards know which: `beginning` throws if it was dropped.
    if (registered?.incarnation !== incarnation()) await beginning(options)
    const shares = new Map([[owner, held.size]])
    const free: number[] = []
    for (const number of partitionNumbers) {
      if (held.has(number)) continue
      const holder = states.get(taskOf(number))?.owner
      if (holder === undefined || holder === owner) free.push(number)
      else shares.set(holder, (shares.get(holder) ?? 0) + 1)
    }
    const waiter = states.get(waiting)?.owner
    if (waiter !== undefined && !shares.has(waiter)) shares.set(waiter, 0)
    return { free, shares, waiter: waiter === owner ? undefined : waiter }
  }

  /** Releases half of the surplus over the waiting process, if no other process has more partitions than this one. */
  async function releaseSurplus(
    shares: ReadonlyMap<string, number>,
    waiter: string,
    busy: ReadonlySet<number>,
  ): Promise<void> {
    const [richest] = [...shares].toSorted(([a, n], [b, m]) => m - n || (a < b ? -1 : 1))
    if (richest?.[0] !== owner) return
    const count = Math.floor((held.size - (shares.get(waiter) ?? 0)) / 2)
    const idle = [...held.values()].filter(({ number }) => !busy.has(number))
    await saveRecords(idle.slice(0, count), 0)
  }

  /** Makes this process the waiting one while it has fewer partitions than a fair share, and gives that up otherwise. */
  async function updateWaiting(isShort: boolean, options: CallOptions): Promise<void> {
    const task = waitingTask(consumer)
    if (isShort) isWaiting = (await tasks().claim(task, owner, leaseMs, options)) !== undefined
    else if (isWaiting) {
      await tasks().save(task, owner, '', 0, options)
      isWaiting = false
    }
  }

  return {
    get held() {
      return [...held.values()]
    },
    get isSure() {
      return isSure()
    },
    confirm() {
      if (isSure()) return Promise.resolve(true)
      return (confirming ??= save()
        .then(
          () => true,
          (error: unknown) => {
            onError(error)
            return false
          },
        )
        .finally(() => (confirming = undefined)))
    },
    save,
    refresh: (busy, options) =>
      turn(async () => {
        await changeOwner()
        const { free, shares, waiter } = await readShares(options)
        const room = Math.ceil(PARTITIONS / shares.size) - held.size
        if (room > 0 && free.length > 0) await claim(free.slice(0, room), options)
        // Only if none is free: the waiting process may not have claimed the partitions that were released before.
        else if (waiter !== undefined && free.length === 0) await releaseSurplus(shares, waiter, busy)
        await updateWaiting(free.length === 0 && held.size < Math.floor(PARTITIONS / shares.size), options)
      }),
    release: () =>
      turn(async () => {
        // It needs no other owner before: it leaves the records without one, so late writes change nothing.
        await saveRecords([...held.values()], 0)
        await updateWaiting(false, {})
      }),
  }
}
