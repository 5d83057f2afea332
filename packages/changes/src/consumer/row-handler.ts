import { formatId } from '@looseleaf/core'
import {
  backOffMs,
  createLane,
  elapsedBy,
  shorten,
  type EntityRow,
  isError,
  messageOf,
} from '@looseleaf/core/internal'
import { isPending, type EngineContext } from '@looseleaf/index-engine/internal'
import { shardAt } from '@looseleaf/protocol/internal'
import type { LimitFunction } from 'p-limit'
import { addLetters } from '../records/dead-letters.ts'
import type { Failing } from '../records/partition-record.ts'
import type { ChangedEntity } from './changed-entity.ts'
import type { SettledOptions } from './consume-options.ts'
import type { Change, ChangeReader } from './consumed-kinds.ts'
import type { HeldPartition, PartitionLeases } from './partition-leases.ts'
import type { PassedChanges } from './passed-changes.ts'
import type { RetrySlots } from './retry-slots.ts'

/** Handles a change. The consumer retries the change if the function throws or rejects. */
export type Handler<Handled extends Change = ChangedEntity> = (
  change: Handled,
  context: {
    /** Fires when the consumer is stopped. An error after that does not count as a failure, and the change comes again. */
    readonly signal: AbortSignal
  },
) => unknown

/** Passes rows to the handler, and tracks failing changes. */
export interface RowHandler {
  /** Tells whether a row has to be handled. A row of a kind that the consumer does not want is passed, unless a change of its entity fails. */
  isWanted(partition: HeldPartition, row: EntityRow): boolean
  /**
   * Resolves to false if the row has to be handed over again: it could not begin by `beginBy` (a time of `elapsedBy`), the consumer was
   * stopped, the partition was taken over, or it is full.
   */
  handle(partition: HeldPartition, row: EntityRow, beginBy: number, kind: 'new' | 'retry'): Promise<boolean>
  /** Tells whether a partition has `MAX_FAILING` failing changes, or `MAX_RECORDED` with those that are kept, so that its new changes wait. */
  isFull(partition: HeldPartition): boolean
  /** Returns the failing changes whose pause is over, longest wait first. */
  due(partition: HeldPartition): readonly Failing[]
  readonly counts: HandledCounts
}

/** Counts since the consumer was started in this process. */
export interface HandledCounts {
  readonly handled: number
  /** Failed attempts, including retries. */
  readonly failed: number
  /** Changes that became dead letters. */
  readonly deadLettered: number
}

/**
 * Largest number of failing changes per partition. A full partition waits until some are handled. Changes that another shard retries, and that
 * stay for the time of a failover, do not count.
 */
export const MAX_FAILING = 100
/** Largest number of failing changes per partition with those that do not count, because each save of the partition writes all of them. */
const MAX_RECORDED = 1_000
/** Capacity of the lane that writes dead letters. */
const MAX_WAITING = 10_000
const MAX_PAUSE_MS = 300_000
const MAX_ERROR = 500

export function createRowHandler(
  context: EngineContext,
  shard: number,
  consumer: string,
  handler: Handler<Change>,
  options: Pick<SettledOptions, 'retryMs' | 'maxAttempts'> & {
    readonly changes: ChangeReader
    readonly leases: PartitionLeases
    readonly passing: Pick<PassedChanges, 'countOpen'>
    readonly limit: LimitFunction
    /** Retries take a slot of `limit` too. */
    readonly retrySlots: RetrySlots
    readonly signal: AbortSignal
    readonly report: (error: unknown, change?: Change) => void
  },
): RowHandler {
  const { changes, leases, passing, limit, retrySlots, signal, report, retryMs, maxAttempts } = options
  const elapsed = elapsedBy(context.time)
  const dueAt = new WeakMap<Failing, number>()
  const counts = { handled: 0, failed: 0, deadLettered: 0 }

  /** Returns the time of the next attempt. For a change taken over from another process the pause starts now. */
  function dueTime(failing: Failing): number {
    const known = dueAt.get(failing)
    if (known !== undefined) return known
    const time = elapsed() + backOffMs(failing.attempts, { firstMs: retryMs, maxMs: MAX_PAUSE_MS })
    dueAt.set(failing, time)
    return time
  }

  /** Tells whether this process still has the partition, and renews expired leases. */
  async function isOurs(partition: HeldPartition): Promise<boolean> {
    return (await leases.confirm()) && partition.isHeld && !signal.aborted
  }

  /** Groups letters by partition, because each write replaces the whole list of a partition. */
  const letters = createLane<{ readonly partition: number; readonly failing: Failing }, boolean>({
    name: `dead letters of ${consumer}`,
    maxBatch: MAX_FAILING,
    maxQueue: MAX_WAITING,
    groupOf: ({ partition }) => partition,
    run(items) {
      const at = { shard, partition: items[0]!.partition }
      const failing = items.map((item) => item.failing)
      return addLetters(context, consumer, at, failing, { signal })
    },
  })

  /** Turns a change into a dead letter. Runs outside the slots of handlers, because the shard may not answer. */
  async function giveUp(partition: HeldPartition, failing: Failing): Promise<void> {
    try {
      if (!(await letters.submit({ partition: partition.number, failing }))) return
    } catch (error) {
      if (!signal.aborted) report(error)
      return
    }
    counts.deadLettered++
    if (partition.failing.get(failing.id) === failing) partition.failing.delete(failing.id)
  }

  const isFull = (partition: HeldPartition): boolean =>
    partition.failing.size >= MAX_RECORDED ||
    (partition.failing.size >= MAX_FAILING && passing.countOpen(partition) >= MAX_FAILING)

  /** Calls the handler. Resolves to undefined, without a call, if the leases may have expired while codec entries were loaded. */
  async function callHandler(partition: HeldPartition, row: EntityRow): Promise<boolean | undefined> {
    const id = formatId(row.id)
    const known = partition.failing.get(id)
    if (known === undefined && isFull(partition)) return false
    const attempt = known?.version === row.version ? known.attempts + 1 : 1
    let change: Change | undefined
    try {
      const decoded = changes.read(row, shardAt(context, shard).name, attempt, known !== undefined)
      // Usually there is nothing to load: the entries were loaded with the page. So the handler begins in this turn, in which the lease is held.
      change = isPending(decoded) ? await decoded : decoded
      if (signal.aborted || !partition.isHeld) return false
      if (!leases.isSure) return undefined
      if (change === undefined) return true
      await handler(change, { signal })
    } catch (error) {
      if (signal.aborted || !partition.isHeld) return false
      report(error, change)
      counts.failed++
      const { version } = row
      const failing = { id, version, attempts: attempt, error: textOf(error), failedAt: context.time.now() }
      partition.failing.set(id, failing)
      dueTime(failing)
      return true
    }
    partition.failing.delete(id)
    counts.handled++
    return true
  }

  return {
    isWanted: (partition, row) =>
      changes.mayBeWanted(row, shardAt(context, shard).name) ||
      (partition.failing.size > 0 && partition.failing.has(formatId(row.id))),
    async handle(partition, row, beginBy, kind) {
      for (;;) {
        // Confirm before taking a slot: a shard that does not answer must not occupy slots that other shards need.
        if (!(await isOurs(partition))) return false
        const isLate = (): boolean => elapsed() > beginBy
        const begin = (): Promise<boolean | undefined> | false | undefined => {
          if (signal.aborted || !partition.isHeld) return false
          return leases.isSure ? callHandler(partition, row) : undefined
        }
        const outcome = await (kind === 'new'
          ? limit(() => (isLate() ? false : begin()))
          : retrySlots.take(isLate, () => limit(begin)))
        if (outcome === undefined) continue
        const failing = partition.failing.get(formatId(row.id))
        if (failing !== undefined && failing.attempts >= maxAttempts) await giveUp(partition, failing)
        return outcome
      }
    },
    isFull,
    due: (partition) => {
      const now = elapsed()
      return [...partition.failing.values()]
        .filter((failing) => dueTime(failing) <= now)
        .toSorted((a, b) => dueTime(a) - dueTime(b))
    },
    counts,
  }
}

const NO_TEXT = 'The handler threw a value without a text.'

/** Returns a text for any thrown value: a message may not be a string, or may be empty, and an object may have no text at all. */
function textOf(error: unknown): string {
  try {
    const name = isError(error) ? error.name : NO_TEXT
    return shorten(String(messageOf(error)) || String(name) || NO_TEXT, MAX_ERROR)
  } catch {
    return NO_TEXT
  }
}
