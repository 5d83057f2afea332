import { isLooseleafError } from '@looseleaf/core'
import { backgroundLoop, guarded, inBackground, onRejected } from '@looseleaf/core/internal'
import { presentNumbers, type EngineContext } from '@looseleaf/index-engine/internal'
import { isOfRemovedShard, checkStore, shardAt, createThrottle } from '@looseleaf/protocol/internal'
import type { CleanProgress } from '../clean/progress.ts'
import { countsOf } from '../clean/cleaning-events.ts'
import { drainKnown } from '../drain/drain-pending.ts'
import { createExpiryRounds, type ExpiryRounds } from '../expire/expiry-rounds.ts'
import { cleanableIndexes, indexTarget } from '../pass/index-target.ts'
import { countByIndex, createPass } from '../pass/pass.ts'
import type { Tally } from '../pass/tally.ts'
import type { CleanerStore } from '../pass/cleaner-store.ts'
import { tuningOf, type Tuned, type Tuning } from '../pass/tuning.ts'
import { createPurger } from '../purge/purger.ts'
import { createKeptRemovals } from '../repair/kept-removals.ts'
import { createReporter, type Reporter, type RoundError } from '../report/summary.ts'
import { createTail, type Tail } from '../tail/tail.ts'
import { cleanerOptionKinds, type CleanerOptions } from './cleaner-options.ts'
import { createMoveFinisher } from './finish-moves.ts'
import { createIndexKeeper } from './keep-indexes.ts'
import { createMarkKeeper } from '../tampering/keep-marks.ts'
import { createWitnessKeeper } from '../tampering/keep-witnesses.ts'

export interface CleanerStatus {
  /** False after the cleaner was stopped or its store was closed. */
  readonly isRunning: boolean
  /** One item per shard, in the order of the shards. */
  readonly shards: readonly {
    /** True while this process follows the writes of the shard; false before the shard has answered. */
    readonly isMine: boolean
    /** End of the last round that succeeded; undefined before the first. */
    readonly lastRoundAt: Date | undefined
    /** Age in milliseconds of the oldest update that the last round had no time for; 0 if it read all. */
    readonly lagMs: number
  }[]
  /** Counts of all work since this cleaner was started. */
  readonly totals: Tally
  /** Tombstones that this cleaner has purged since it was started. */
  readonly purged: number
  /** Entities that this cleaner has deleted because they had expired. */
  readonly expired: number
  /** Names of the indexes that this process is filling. */
  readonly filling: readonly string[]
  /** Names of the indexes that this process is sweeping. */
  readonly sweeping: readonly string[]
  /** Latest progress of fillings and sweeps, one item per shard. */
  readonly progress: readonly CleanProgress[]
  readonly lastError: RoundError | undefined
}

export interface Cleaner {
  /** Stops the work after the current page, saves its progress, and releases the leases for other processes. */
  stop(): Promise<void>
  /** `stop`, for `await using cleaner = startCleaner(store)`. */
  [Symbol.asyncDispose](): Promise<void>
  status(): CleanerStatus
}

const HOUR = 3_600_000

/**
 * Keeps the indexes of a store in step with its entities for as long as the process runs: follows the writes, fills new indexes, sweeps all
 * indexes regularly, deletes expired entities, purges old tombstones, and empties the sources of moves once consumers have read them. Run one in some or all processes of the store; they share the work.
 * Throws `BAD_OPTION` for bad arguments. Later errors go to `status` and `onError`, and the work is retried. The cleaner ends with its
 * store: `store.close()` stops it, and waits up to five seconds for that.
 */
export function startCleaner(store: CleanerStore, given: CleanerOptions = {}): Cleaner {
  checkStore('startCleaner', store, given, cleanerOptionKinds)
  return startTunedCleaner(store, given)
}

/** As `startCleaner`, with a tuning, and without a check of the options. */
export function startTunedCleaner(store: CleanerStore, given: Tuned<CleanerOptions> = {}): Cleaner {
  const controller = new AbortController()
  const { signal } = controller
  const time = given.keepAlive ? store.context.time : inBackground(store.context.time)
  const context: EngineContext = { ...store.context, time }
  const owner = context.random.uuid()
  const leaseMs = given.leaseMs ?? 30_000
  const sweepEveryMs = given.sweepEveryMs ?? 24 * HOUR
  const reporter = createReporter(context, owner, sweepEveryMs)
  const lastProgress = new Map<number, CleanProgress>()

  const onError = (error: unknown): void => {
    // The error that ended the cleaner was reported once; the other loops fail with it too.
    if (signal.aborted || isOfRemovedShard(context, error)) return
    reporter.recordError(error)
    context.events.happened({
      kind: 'cleaner_failed',
      code: isLooseleafError(error) ? error.code : 'UNKNOWN',
    })
    // A closed store does not open again.
    if (isLooseleafError(error, 'CLOSED')) controller.abort()
    callOnError(context, given.onError, error)
  }
  const options: CleanerOptions & Tuning = {
    ...given,
    ...tuningOf(given),
    ...(given.onProblem && { onProblem: (problem) => onRejected(given.onProblem?.(problem), onError) }),
    ...(given.onProgress && { onProgress: (progress) => onRejected(given.onProgress?.(progress), onError) }),
  }
  const throttle = createThrottle(time, options.rowsPerSecond, context.share)
  const expiry = createExpiryRounds(context, { signal, onProblem: options.onProblem }, throttle, onError)
  const keeper = createIndexKeeper(
    context,
    {
      signal,
      leaseMs,
      sweepEveryMs,
      graceMs: options.graceMs,
      settleMs: options.settleMs,
      pollMs: options.pollMs,
      onProblem: options.onProblem,
      onProgress(progress) {
        lastProgress.set(progress.shard, progress)
        options.onProgress?.(progress)
      },
    },
    { throttle, onWork: reporter.count },
    onError,
  )
  const finisher = createMoveFinisher(context, { signal, rowsPerSecond: options.rowsPerSecond }, onError)
  /** By shard number, without removed shards. */
  const tails = new Map<number, Follower>()
  const purger = createPurger(context, { owner, leaseMs, signal, onError })
  const marks = createMarkKeeper(context, owner)
  const witnesses = createWitnessKeeper(context, {
    owner,
    isMine: (shard) => tails.get(shard)?.tail.isMine === true,
    settleMs: options.settleMs,
  })
  const drainRemovals = createKeptRemovals(context)
  const tailLoops: Promise<void>[] = []
  /** Follows the shards that are not followed yet: at first all, later those that join. Leaves the removed ones. */
  function followShards(): void {
    for (const shard of presentNumbers(context.driver)) {
      if (tails.has(shard) || signal.aborted) continue
      const tail = followShard(context, shard, options, { signal, owner, leaseMs, reporter, expiry })
      tails.set(shard, tail)
      tailLoops.push(backgroundLoop({ time, signal: tail.signal, round: tail.round, onError }))
    }
    for (const [shard, tail] of tails) {
      if (!context.driver.removed?.has(shard)) continue
      tail.leave()
      tails.delete(shard)
      lastProgress.delete(shard)
    }
  }
  // The caller may be inside a call or a trace, and the loops outlive both.
  context.events.detached(followShards)
  const loops = context.events.detached(() => [
    backgroundLoop({
      time,
      signal,
      onError,
      async round() {
        await drainKnown(context, { signal, graceMs: options.graceMs }, drainRemovals)
        return options.intervalMs ?? 1_000
      },
    }),
    backgroundLoop({
      time,
      signal,
      onError,
      async round() {
        await marks.look({ signal })
        await witnesses.look({ signal })
        // Reloads the catalog, and so learns of shards that have joined.
        await keeper.startDue({ signal }, marks.unsweptSince)
        followShards()
        finisher.startDue()
        await reporter.save({ signal })
        await purger.purgeDue()
        return options.catalogMs
      },
    }),
  ])

  let stopped: Promise<void> | undefined
  const stop = (): Promise<void> => (stopped ??= end())
  const leaveClosing = context.closing.join(stop, leaseMs)
  async function end(): Promise<void> {
    controller.abort()
    leaveClosing()
    await Promise.all(loops)
    await Promise.all(tailLoops)
    await Promise.all([keeper.ended(), expiry.ended(), finisher.ended()])
    // A failed save only repeats work: the leases expire, and the next round starts at the last saved place.
    await Promise.allSettled([...Array.from(tails.values(), ({ tail }) => tail.release()), reporter.save()])
  }

  return {
    stop,
    [Symbol.asyncDispose]: stop,
    status: () => ({
      isRunning: !signal.aborted,
      shards: Array.from(tails.values(), ({ tail, lastRoundAt }) => ({
        isMine: tail.isMine,
        lagMs: tail.lagMs,
        lastRoundAt: lastRoundAt(),
      })),
      totals: { ...reporter.totals },
      purged: purger.purged,
      expired: expiry.deleted,
      filling: keeper.filling,
      sweeping: keeper.sweeping,
      progress: [...lastProgress.values()].toSorted((a, b) => a.shard - b.shard),
      lastError: reporter.lastError,
    }),
  }
}

/** Calls the caller's `onError`. An exception in it becomes a warning: it ends neither the cleaner nor the process. */
function callOnError(context: EngineContext, onError: CleanerOptions['onError'], error: unknown): void {
  guarded(
    () => onError?.(error),
    (failure) => context.onWarning(`onError of startCleaner failed: ${String(failure)}`),
  )
}

interface Follower {
  readonly tail: Tail
  /** Fires at the end of the cleaner, and when it leaves the shard. */
  readonly signal: AbortSignal
  readonly leave: () => void
  readonly round: () => Promise<number>
  readonly lastRoundAt: () => Date | undefined
}

function followShard(
  context: EngineContext,
  shard: number,
  options: CleanerOptions & Tuning,
  shared: {
    readonly signal: AbortSignal
    readonly owner: string
    readonly leaseMs: number
    readonly reporter: Reporter
    readonly expiry: ExpiryRounds
  },
): Follower {
  const tail = createTail(context, shard, {
    owner: shared.owner,
    leaseMs: shared.leaseMs,
    rowsPerRound: options.rowsPerRound ?? 5_000,
    lookBackMs: options.lookBackMs,
    maxLagMs: options.maxLagMs,
  })
  const intervalMs = options.intervalMs ?? 1_000
  const idleIntervalMs = Math.max(intervalMs, options.idleIntervalMs)
  let pause = intervalMs
  let lastRoundAt: number | undefined
  const left = new AbortController()
  const signal = AbortSignal.any([shared.signal, left.signal])

  async function round(): Promise<number> {
    const { graceMs, onProblem } = options
    const { pass, total, removed } = countByIndex(createPass(context, { signal, graceMs, onProblem }))
    // Read before the round: another round may reload the catalog while this one fails.
    const known = cleanableIndexes(context)
    try {
      const targets = known.map((entry) => indexTarget(context, entry))
      const looked = await tail.round(pass, targets)
      lastRoundAt = context.time.now()
      // The lease of the tail ensures that only one process deletes expired entities of the shard.
      if (tail.isMine) shared.expiry.start(shard)
      pause = looked === 0 || looked === undefined ? Math.min(pause * 2, idleIntervalMs) : intervalMs
      return tail.lagMs > 0 ? 0 : pause
    } catch (error) {
      if (!isLooseleafError(error, 'INDEX_NOT_FOUND')) throw error
      // If an index of the round was dropped, the next round succeeds without it.
      await context.catalog.reload({ signal })
      const current = new Set(cleanableIndexes(context).map(({ table }) => table))
      if (known.every(({ table }) => current.has(table))) throw error
      return 0
    } finally {
      const tally = total()
      shared.reporter.count(tally)
      const { name } = shardAt(context, shard)
      const { lagMs } = tail
      if (tail.isMine)
        context.events.happened({
          kind: 'round',
          shard: name,
          lagMs,
          ...countsOf(tally),
          removedByIndex: removed(),
        })
    }
  }

  return {
    tail,
    signal,
    leave: () => left.abort(),
    round,
    lastRoundAt: () => (lastRoundAt === undefined ? undefined : new Date(lastRoundAt)),
  }
}
