import { isLooseleafError } from '@looseleaf/core'
import { backgroundLoop, guarded, inBackground, onRejected } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { isOfShardLeftOut, checkStore, createThrottle, type AnyStore } from '@looseleaf/protocol/internal'
import type { CleanProgress } from '../clean/progress.ts'
import { drainKnown } from '../drain/drain-pending.ts'
import { createExpiryRounds } from '../expire/expiry-rounds.ts'
import { tuningOf, type Tuned, type Tuning } from '../pass/tuning.ts'
import { createPurger } from '../purge/purger.ts'
import { createKeptRemovals } from '../repair/kept-removals.ts'
import { createReporter } from '../report/summary.ts'
import { cleanerOptionKinds, type CleanerOptions } from './cleaner-options.ts'
import type { CleanerStatus } from './cleaner-status.ts'
import { createMoveFinisher } from './finish-moves.ts'
import { createIndexKeeper } from './keep-indexes.ts'
import { createTails } from './tails.ts'
import { createMarkKeeper } from '../tampering/keep-marks.ts'
import { createWitnessKeeper } from '../tampering/keep-witnesses.ts'

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
 * indexes regularly, deletes expired entities, purges old tombstones, and empties the sources of moves once consumers have read them. Run
 * one in some or all processes of the store; they share the work. Throws `BAD_OPTION` for bad arguments. Later errors go to `status` and `onError`, and the work is retried. The cleaner ends with its
 * store: `store.close()` stops it, and waits up to five seconds for that.
 */
export function startCleaner(store: AnyStore, given: CleanerOptions = {}): Cleaner {
  checkStore('startCleaner', store, given, cleanerOptionKinds)
  return startTunedCleaner(store, given)
}

/** As `startCleaner`, with a tuning, and without a check of the options. */
export function startTunedCleaner(store: AnyStore, given: Tuned<CleanerOptions> = {}): Cleaner {
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
    if (signal.aborted || isOfShardLeftOut(context, error)) return
    reporter.recordError(error)
    context.events.happened({
      kind: 'cleaner_failed',
      code: isLooseleafError(error) ? error.code : 'UNKNOWN',
    })
    // A closed store does not open again.
    if (isLooseleafError(error, 'CLOSED')) controller.abort()
    // An exception of `onError` ends neither the cleaner nor the process.
    guarded(
      () => given.onError?.(error),
      (failure) => context.onWarning(`onError of startCleaner failed: ${String(failure)}`),
    )
  }
  const { onProblem, onProgress } = given
  const options: CleanerOptions & Tuning = {
    ...given,
    ...tuningOf(given),
    ...(onProblem && { onProblem: (problem) => onRejected(onProblem(problem), onError) }),
    ...(onProgress && { onProgress: (progress) => onRejected(onProgress(progress), onError) }),
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
  const tails = createTails(context, options, { signal, owner, leaseMs, reporter, expiry, onError })
  const purger = createPurger(context, { owner, leaseMs, signal, onError })
  const marks = createMarkKeeper(context, owner)
  const witnesses = createWitnessKeeper(context, {
    owner,
    isMine: tails.isMine,
    settleMs: options.settleMs,
  })
  const drainRemovals = createKeptRemovals(context)
  function followShards(): void {
    for (const removed of tails.follow()) lastProgress.delete(removed)
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
    await tails.ended()
    await Promise.all([keeper.ended(), expiry.ended(), finisher.ended()])
    // A failed save only repeats work: the leases expire, and the next round starts at the last saved place.
    await Promise.allSettled([tails.release(), reporter.save()])
  }

  return {
    stop,
    [Symbol.asyncDispose]: stop,
    status: () => ({
      isRunning: !signal.aborted,
      shards: tails.status(),
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
