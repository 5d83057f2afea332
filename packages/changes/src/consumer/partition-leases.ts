import { elapsedBy, type CallOptions, type UpdatedPlace } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine'
import {
  type FollowedPlace,
  partitionNumbers,
  PARTITIONS,
  partitionTask,
  processName,
  REGISTRY_TASK,
  shardAt,
} from '@looseleaf/protocol'
import { waitingTask } from '../records/names.ts'
import { recordFromText, recordToText, type Failing } from '../records/partition-record.ts'
import { registryFromText } from '../records/registry.ts'

/** A partition of a shard that this process works on. */
export interface HeldPartition {
  readonly number: number
  place: UpdatedPlace
  /** See `FollowedPlace`. */
  since: number
  /** By the entity's id. */
  readonly failing: Map<string, Failing>
  /** False once another process has taken over, or this one has given it up: then nothing of it is handled here any more. */
  isHeld: boolean
}

/** The right of this process to some partitions of a shard, for a time. */
export interface PartitionLeases {
  readonly held: readonly HeldPartition[]
  /** Whether the leases have not run out, as far as this process knows. */
  readonly isSure: boolean
  /**
   * Prolongs the leases where they may have run out: what is not held any more says so then. Answers whether they are sure now. Many
   * may ask at once.
   */
  confirm(options: CallOptions): Promise<boolean>
  /** Takes what is free, up to a fair share, and gives up what another process lacks: nothing of `busy`, which is worked on. */
  refresh(busy: ReadonlySet<number>, options: CallOptions): Promise<void>
  /** Saves where the partitions stand, and prolongs the leases. */
  save(options: CallOptions): Promise<void>
  /** Saves and gives up everything. */
  release(): Promise<void>
}

export interface LeaseOptions {
  readonly consumer: string
  /** A name of this process that no other has. */
  readonly owner: string
  readonly leaseMs: number
  /** Of the registration that this process works for. Asked when that is known. */
  readonly incarnation: () => string
  /** Where a partition begins that nobody has worked on. Throws where the consumer was dropped. */
  readonly beginning: (options: CallOptions) => Promise<FollowedPlace>
  /** Told why leases could not be prolonged while there was work. */
  readonly onError: (error: unknown) => void
}

export function createPartitionLeases(
  context: EngineContext,
  shard: number,
  { consumer, owner, leaseMs, incarnation, beginning, onError }: LeaseOptions,
): PartitionLeases {
  const elapsed = elapsedBy(context.time)
  const tasks = (): ReturnType<typeof shardAt>['tasks'] => shardAt(context, shard).tasks
  const taskOf = (partition: number): string => partitionTask(consumer, partition)
  const held = new Map<number, HeldPartition>()
  let sureUntil = -Infinity
  const isSure = (): boolean => elapsed() < sureUntil
  let isWaiting = false
  let confirming: Promise<boolean> | undefined

  async function store(
    partitions: readonly HeldPartition[],
    forMs: number,
    options: CallOptions,
  ): Promise<void> {
    if (partitions.length === 0) return
    const texts = partitions.map(({ number, place, since, failing }): [string, string] => [
      taskOf(number),
      recordToText({
        incarnation: incarnation(),
        place,
        since,
        failing: [...failing.values()],
        process: processName,
      }),
    ])
    const still = await tasks().saveAll(new Map(texts), owner, forMs, options)
    for (const partition of partitions) {
      partition.isHeld = forMs > 0 && still.has(taskOf(partition.number))
      if (!partition.isHeld) held.delete(partition.number)
    }
  }

  async function save(options: CallOptions): Promise<void> {
    const begun = elapsed()
    await store([...held.values()], leaseMs, options)
    sureUntil = begun + leaseMs
  }

  async function claim(partitions: readonly number[], options: CallOptions): Promise<void> {
    const begun = elapsed()
    // Not ended by a stop: what was claimed has to be known, so that it is given up.
    const claimed = await tasks().claimAll(partitions.map(taskOf), owner, leaseMs, {})
    const untouched = new Map<number, string>()
    const hold = (
      number: number,
      place: UpdatedPlace,
      since: number,
      failing: readonly Failing[] = [],
    ): void =>
      void held.set(number, {
        number,
        place,
        since,
        failing: new Map(failing.map((one) => [one.id, one])),
        isHeld: true,
      })
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
      await tasks().saveAll(new Map(texts), owner, 0, {})
      throw error
    }
  }

  /** How many partitions each process has that works on this shard, or waits for some. */
  async function look(options: CallOptions): Promise<{
    readonly free: readonly number[]
    readonly shares: ReadonlyMap<string, number>
    readonly waiter: string | undefined
  }> {
    const waiting = waitingTask(consumer)
    const states = await tasks().loadAll([...partitionNumbers.map(taskOf), waiting, REGISTRY_TASK], options)
    const registered = registryFromText(states.get(REGISTRY_TASK)?.progress ?? '').get(consumer)
    // Dropped, or this shard was restored: others know then.
    if (registered?.incarnation !== incarnation()) await beginning(options)
    const shares = new Map([[owner, held.size]])
    const free: number[] = []
    for (const number of partitionNumbers) {
      if (held.has(number)) continue
      const who = states.get(taskOf(number))?.owner
      if (who === undefined || who === owner) free.push(number)
      else shares.set(who, (shares.get(who) ?? 0) + 1)
    }
    const waiter = states.get(waiting)?.owner
    if (waiter !== undefined && !shares.has(waiter)) shares.set(waiter, 0)
    return { free, shares, waiter: waiter === owner ? undefined : waiter }
  }

  /** Half of what this process has more than the one who waits, if no other has more. */
  async function share(
    shares: ReadonlyMap<string, number>,
    waiter: string,
    busy: ReadonlySet<number>,
    options: CallOptions,
  ): Promise<void> {
    const [richest] = [...shares].toSorted(([a, n], [b, m]) => m - n || (a < b ? -1 : 1))
    if (richest?.[0] !== owner) return
    const count = Math.floor((held.size - (shares.get(waiter) ?? 0)) / 2)
    const idle = [...held.values()].filter(({ number }) => !busy.has(number))
    await store(idle.slice(0, count), 0, options)
  }

  async function wait(isShort: boolean, options: CallOptions): Promise<void> {
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
    confirm(options) {
      if (isSure()) return Promise.resolve(true)
      return (confirming ??= save(options)
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
    async refresh(busy, options) {
      const { free, shares, waiter } = await look(options)
      const room = Math.ceil(PARTITIONS / shares.size) - held.size
      if (room > 0 && free.length > 0) await claim(free.slice(0, room), options)
      // Only where nothing is free: what was given up before may not have been taken yet.
      else if (waiter !== undefined && free.length === 0) await share(shares, waiter, busy, options)
      await wait(free.length === 0 && held.size < Math.floor(PARTITIONS / shares.size), options)
    },
    async release() {
      await store([...held.values()], 0, {})
      await wait(false, {})
    },
  }
}
