import { isLooseleafError, LooseleafError, type ErrorCode } from '@looseleaf/core'
import { backgroundLoop, badArgument, guarded } from '@looseleaf/core/internal'
import { isRemoved } from '@looseleaf/index-engine/internal'
import {
  checkStore,
  createMovedRows,
  forEachShard,
  shardAt,
  type Registration,
  isOfShardLeftOut,
  type AnyStore,
} from '@looseleaf/protocol/internal'
import pLimit from 'p-limit'
import { checkConsumerName } from '../records/names.ts'
import { beginningOf, register } from '../records/registry.ts'
import {
  consumeOptionKinds,
  settledOptions,
  type AnyConsumeOptions,
  type ConsumeOptions,
} from './consume-options.ts'
import {
  createChangeReader,
  requireKinds,
  type Change,
  type ChangedItem,
  type ConsumedKind,
} from './consumed-kinds.ts'
import { createPartitionLeases } from './partition-leases.ts'
import { createPassedChanges } from './passed-changes.ts'
import { createReplays } from './replays.ts'
import { createRetrySlots } from './retry-slots.ts'
import { createRowHandler, type HandledCounts, type Handler } from './row-handler.ts'
import { reserveName } from './running-names.ts'
import { createShardConsumer } from './shard-consumer.ts'
import { storeProgress } from './store-progress.ts'

export interface Consumer {
  /** Stops taking changes, waits for the handlers in flight, saves the places, and releases the leases for other processes. */
  stop(): Promise<void>
  /** `stop`, for `await using consumer = consume(…)`. */
  [Symbol.asyncDispose](): Promise<void>
  /** Returns the partitions that this process has, its counts, and the age of the oldest change that is not handled yet. */
  status(): ConsumerStatus
}

/** The share of this process in the work of a consumer; `readConsumers` reports all processes. */
export interface ConsumerStatus extends HandledCounts {
  /** False after the consumer was stopped, ended by an error or dropped, or after its store was closed. */
  readonly isRunning: boolean
  /** One item per shard, in the order of the shards, without removed shards. The counts of the consumer keep the work on these. */
  readonly shards: readonly ShardConsumerStatus[]
}

export interface ShardConsumerStatus extends HandledCounts {
  /** Number of the shard, as in `store.shards.list()`. */
  readonly number: number
  /** Partitions of this shard that this process has, 0 to 8. */
  readonly partitions: number
  /** Changes whose handler failed and that will be retried. */
  readonly failing: number
  /**
   * Age of the oldest change that is neither handled nor failing, in milliseconds, and at least the age of the floor. `Infinity` before
   * the first change of a consumer that starts at the beginning, 0 if this process has no partition. Undefined while the age is unknown: before
   * the first read of this process, and if that change has a time ahead of the shard's clock.
   */
  readonly lagMs: number | undefined
}

/** Permanent errors: the store is closed, the consumer was dropped, a new name lacks `from`, or deletions were purged unseen. */
const ENDS: ReadonlySet<ErrorCode> = new Set(['CLOSED', 'NOT_FOUND', 'BAD_OPTION', 'CHANGES_GONE'])

/** Longest pause after failed rounds, so changes of a shard that is back are late by at most this. */
const LAST_RETRY_MS = 2_000

/**
 * Hands the changes of a store to a function, each at least once, starting at the saved place of the consumer with this name. Any number of
 * processes share the work. A name that the store does not know needs the option `from`. Versions of one entity arrive in order, one at a
 * time; a version that was replaced before it was read is skipped. If the function throws or rejects, the change is retried while others
 * proceed, and after `maxAttempts` failures it becomes a dead letter.
 * Throws `BAD_OPTION` for bad arguments, and if this store object already runs a consumer of this name: two handlers would get a part of the
 * changes each. `concurrency` sets the number of handlers in flight. Later errors go to `onError` and are retried, except those that end the consumer. The consumer ends
 * with its store. `store.close()` waits up to five seconds for handlers in flight but rejects their calls, so stop the consumer first if
 * handlers use the store.
 * With `kinds` the handler gets items of these kinds, and every deletion. A known consumer that is started with other kinds ends with
 * `BAD_OPTION`.
 */
export function consume<const Kinds extends readonly ConsumedKind[]>(
  store: AnyStore,
  name: string,
  handler: Handler<ChangedItem<Kinds[number]>>,
  options: ConsumeOptions<ChangedItem<Kinds[number]>, Kinds> & { readonly kinds: Kinds },
): Consumer
export function consume(store: AnyStore, name: string, handler: Handler, options?: ConsumeOptions): Consumer
export function consume(
  store: AnyStore,
  name: string,
  handler: Handler<never>,
  options: AnyConsumeOptions = {},
): Consumer {
  checkStore('consume', store, options, consumeOptionKinds)
  checkConsumerName('consume', name)
  if (typeof handler !== 'function') throw badArgument('consume', 'a function that handles a change', handler)
  const settled = settledOptions(options)
  const { from, kinds } = options
  const changes = createChangeReader(store, kinds)
  const { context } = store
  const controller = new AbortController()
  const { signal } = controller
  reserveName(context, name, signal)

  const report = (error: unknown, change?: Change): void =>
    void guarded(
      () => options.onError?.(error, change as never),
      (failure) => context.onWarning(`onError of consume failed: ${String(failure)}`),
    )
  const onRoundError = (error: unknown): void => {
    if (signal.aborted || isOfShardLeftOut(context, error)) return
    report(error)
    if (!isLooseleafError(error) || !ENDS.has(error.code)) return
    controller.abort()
    if (options.onError === undefined && error.code !== 'CLOSED')
      context.onWarning(`The consumer ${name} has ended: ${error.message}`)
  }

  let registration: Registration = { incarnation: '', at: 0, begun: [], floors: [] }
  let registered: Promise<void> | undefined
  const ensureRegistered = (): Promise<void> =>
    (registered ??= registerOnce().catch((error: unknown) => {
      registered = undefined
      throw error
    }))
  async function registerOnce(): Promise<void> {
    const answer = await register(context, name, { from, kinds: kinds?.map((kind) => kind.name), signal })
    requireKinds(name, answer.kinds, kinds)
    registration = answer
  }

  const progress = storeProgress(context, name, {
    registration: () => registration,
    everyMs: settled.pollMs,
    signal,
  })
  const limit = pLimit(settled.concurrency)
  const createShardSlots = createRetrySlots(settled.concurrency)
  const consumeShard = (shard: number) => {
    const { name: shardName } = shardAt(context, shard)
    const leases = createPartitionLeases(context, shard, {
      consumer: name,
      leaseMs: settled.leaseMs,
      incarnation: () => registration.incarnation,
      onError: onRoundError,
      async beginning(call) {
        const place = await beginningOf(context, name, registration.incarnation, shard, call)
        if (place !== undefined) return place
        throw new LooseleafError('NOT_FOUND', `The consumer ${name} was dropped.`, { shard: shardName })
      },
    })
    const retrySlots = createShardSlots()
    const moved = createMovedRows(context, shard, progress, signal)
    const passing = createPassedChanges(context, { shard, consumer: name, moved, leases })
    const rows = createRowHandler(context, shard, name, handler as Handler<Change>, {
      ...settled,
      changes,
      leases,
      passing,
      limit,
      retrySlots,
      signal,
      report,
    })
    const work = createShardConsumer(context, {
      ...settled,
      shard,
      leases,
      handler: rows,
      replays: createReplays(context, name, shard, { leases, passing }),
      moved,
      passing,
      retrySlots,
      signal,
      onError: onRoundError,
    })
    let before = { ...rows.counts }
    const round = async (): Promise<number> => {
      await ensureRegistered()
      try {
        return await work.round()
      } finally {
        const done = {
          handled: rows.counts.handled - before.handled,
          failed: rows.counts.failed - before.failed,
          deadLettered: rows.counts.deadLettered - before.deadLettered,
        }
        // Handled changes are reported even if the partitions were lost during the round.
        if (leases.held.length > 0 || Object.values(done).some((count) => count > 0)) {
          const { lagMs } = work
          context.events.happened({ kind: 'consumed', consumer: name, shard: shardName, ...done, lagMs })
        }
        before = { ...rows.counts }
      }
    }
    return { number: shard, leases, counts: rows.counts, work, round }
  }
  const shards: ReturnType<typeof consumeShard>[] = []
  const loops: Promise<void>[] = []
  const begin = (shard: number, shardSignal: AbortSignal): void => {
    if (isRemoved(context.catalog.latest().layout, shard)) return
    const consumed = consumeShard(shard)
    shards.push(consumed)
    const { round } = consumed
    const { time } = context
    loops.push(
      backgroundLoop({ time, signal: shardSignal, round, onError: onRoundError, lastRetryMs: LAST_RETRY_MS }),
    )
  }
  // The caller may be inside a call or a trace, and the loops outlive both.
  const joining = context.events.detached(() => forEachShard(context, { signal, begin }))

  let stopped: Promise<void> | undefined
  const stop = (): Promise<void> => (stopped ??= end())
  const leaveClosing = context.closing.join(stop, settled.leaseMs)
  async function end(): Promise<void> {
    controller.abort()
    leaveClosing()
    await joining
    await Promise.all(loops)
    await Promise.all(shards.map(({ work }) => work.settled()))
    // A failed save only repeats changes: the leases expire, and the next process resumes at the last saved place.
    await Promise.allSettled(shards.map(({ leases }) => leases.release()))
  }

  return {
    stop,
    [Symbol.asyncDispose]: stop,
    status() {
      const { layout } = context.catalog.latest()
      const statuses = shards
        .filter(({ number }) => !isRemoved(layout, number))
        .map(({ number, leases: { held }, counts, work: { lagMs } }) => ({
          number,
          ...counts,
          partitions: held.length,
          failing: held.reduce((sum, { failing }) => sum + failing.size, 0),
          lagMs,
        }))
      const total = (count: keyof HandledCounts): number =>
        shards.reduce((sum, { counts }) => sum + counts[count], 0)
      return {
        isRunning: !signal.aborted,
        handled: total('handled'),
        failed: total('failed'),
        deadLettered: total('deadLettered'),
        shards: statuses,
      }
    },
  }
}
