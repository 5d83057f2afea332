import {
  backgroundLoop,
  badArgument,
  guarded,
  isLooseleafError,
  LooseleafError,
  type ErrorCode,
} from '@looseleaf/core'
import { checkStore } from '@looseleaf/protocol'
import pLimit from 'p-limit'
import { checkConsumerName } from '../records/names.ts'
import { beginningOf, register } from '../records/registry.ts'
import type { ChangesStore } from '../changes-store.ts'
import type { ChangedEntity } from './changed-entity.ts'
import { consumeOptionKinds, settledOptions, type ConsumeOptions } from './consume-options.ts'
import { createPartitionLeases } from './partition-leases.ts'
import { createReplays } from './replays.ts'
import { createRetryPlaces } from './retry-places.ts'
import { createRowHandler, type HandledCounts, type Handler } from './row-handler.ts'
import { createShardConsumer } from './shard-consumer.ts'

export interface Consumer {
  /** Takes no further changes, waits for the handlers under way, saves how far it came, and lets other processes go on. */
  stop(): Promise<void>
  /** `stop`, for `await using consumer = consume(…)`. */
  [Symbol.asyncDispose](): Promise<void>
  /** Tells how far this process is: the partitions that it works on, what it has handled, and how old the oldest open change is. */
  status(): ConsumerStatus
}

/** What this process does of a consumer's work; `readConsumers` has what all do. */
export interface ConsumerStatus extends HandledCounts {
  /** False once it was stopped, dropped, or its store was closed. */
  readonly isRunning: boolean
  /** Per shard, in their order. */
  readonly shards: readonly ShardConsumerStatus[]
}

export interface ShardConsumerStatus extends HandledCounts {
  /** Of eighths of the shard, how many this process works on. */
  readonly partitions: number
  /** Changes that were refused and are tried again. */
  readonly failing: number
  /**
   * Age of the oldest change that was not handled and does not fail, in milliseconds, and never less than that of the floor; `Infinity`
   * at its beginning, 0 where nothing is held. Undefined where that change has a time ahead of the shard's clock, so that its age is
   * not known.
   */
  readonly lagMs: number | undefined
}

/** The store is closed, the consumer was dropped, is new and has no beginning, or has missed purged deletions: it stays so. */
const ENDS: ReadonlySet<ErrorCode> = new Set(['CLOSED', 'NOT_FOUND', 'BAD_OPTION', 'CHANGES_GONE'])

/** The longest pause after rounds that failed: once a shard is back, its changes are late by up to this. */
const LAST_RETRY_MS = 2_000

/**
 * Hands the changes of a store to a function, at least once each, from where the consumer of this name was last: any number of processes share the
 * work. A name that the store does not know needs the option `from`. Versions of one entity come in their order, one after the other; a version
 * that was replaced may be left out. A change that the function refuses, by throwing, is tried again while the others go on, and becomes a
 * dead letter at last.
 * Throws `BAD_OPTION` for bad arguments. Later errors go to `onError`, and the work is tried again. The consumer ends with its store, whose
 * `close` waits for up to five seconds for the handlers under way, for which the store is closed already: stop the consumer before, so that
 * they can write to the end.
 */
export function consume(
  store: ChangesStore,
  name: string,
  handler: Handler,
  options: ConsumeOptions = {},
): Consumer {
  checkStore('consume', store, options, consumeOptionKinds)
  checkConsumerName('consume', name)
  if (typeof handler !== 'function') throw badArgument('consume', 'a function that handles a change', handler)
  const settled = settledOptions(options)
  const { context } = store
  const controller = new AbortController()
  const { signal } = controller

  const tell = (error: unknown, change?: ChangedEntity): void =>
    void guarded(
      () => options.onError?.(error, change),
      (failure) => process.emitWarning(`onError of consume failed: ${String(failure)}`, 'LooseleafWarning'),
    )
  const failed = (error: unknown): void => {
    if (signal.aborted) return
    tell(error)
    if (!isLooseleafError(error) || !ENDS.has(error.code)) return
    controller.abort()
    if (options.onError === undefined && error.code !== 'CLOSED')
      process.emitWarning(`The consumer ${name} has ended: ${error.message}`, 'LooseleafWarning')
  }

  let incarnation = ''
  let registered: Promise<void> | undefined
  const known = (): Promise<void> =>
    (registered ??= register(context, name, options.from, { signal }).then(
      (answer) => void (incarnation = answer),
      (error: unknown) => {
        registered = undefined
        throw error
      },
    ))

  const owner = context.random.uuid()
  const limit = pLimit(settled.concurrency)
  const placesOfShard = createRetryPlaces(settled.concurrency)
  const shards = context.driver.shards.map(({ name: shardName }, shard) => {
    const leases = createPartitionLeases(context, shard, {
      consumer: name,
      owner,
      leaseMs: settled.leaseMs,
      incarnation: () => incarnation,
      onError: failed,
      async beginning(call) {
        const place = await beginningOf(context, name, incarnation, shard, call)
        if (place !== undefined) return place
        throw new LooseleafError('NOT_FOUND', `The consumer ${name} was dropped.`, { shard: shardName })
      },
    })
    const retryPlaces = placesOfShard()
    const rows = createRowHandler(context, shard, name, handler, {
      ...settled,
      leases,
      limit,
      retryPlaces,
      signal,
      tell,
    })
    const work = createShardConsumer(context, {
      ...settled,
      shard,
      leases,
      handler: rows,
      replays: createReplays(context, name, shard, leases),
      retryPlaces,
      signal,
      onError: failed,
    })
    let before = { ...rows.counts }
    const round = async (): Promise<number> => {
      await known()
      try {
        return await work.round()
      } finally {
        const done = {
          handled: rows.counts.handled - before.handled,
          failed: rows.counts.failed - before.failed,
          givenUp: rows.counts.givenUp - before.givenUp,
        }
        // What was done is told, also where the partitions were lost meanwhile.
        if (leases.held.length > 0 || Object.values(done).some((count) => count > 0)) {
          const { lagMs } = work
          context.events.happened({ kind: 'consumed', consumer: name, shard: shardName, ...done, lagMs })
        }
        before = { ...rows.counts }
      }
    }
    return { leases, counts: rows.counts, work, round }
  })
  // Whoever starts it may do so within a call or a trace.
  const loops = context.events.detached(() =>
    shards.map(({ round }) =>
      backgroundLoop({ time: context.time, signal, round, onError: failed, lastRetryMs: LAST_RETRY_MS }),
    ),
  )

  let stopped: Promise<void> | undefined
  const stop = (): Promise<void> => (stopped ??= end())
  const leave = context.closing.join(stop, settled.leaseMs)
  async function end(): Promise<void> {
    controller.abort()
    leave()
    await Promise.all(loops)
    await Promise.all(shards.map(({ work }) => work.settled()))
    // What cannot be saved now comes again: leases run out, and the next process begins where it was saved last.
    await Promise.allSettled(shards.map(({ leases }) => leases.release()))
  }

  return {
    stop,
    [Symbol.asyncDispose]: stop,
    status() {
      const each = shards.map(({ leases: { held }, counts, work: { lagMs } }) => ({
        ...counts,
        partitions: held.length,
        failing: held.reduce((sum, { failing }) => sum + failing.size, 0),
        lagMs,
      }))
      const total = (of: keyof HandledCounts): number => each.reduce((sum, counts) => sum + counts[of], 0)
      return {
        isRunning: !signal.aborted,
        handled: total('handled'),
        failed: total('failed'),
        givenUp: total('givenUp'),
        shards: each,
      }
    },
  }
}
