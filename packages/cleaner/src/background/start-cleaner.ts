import { backgroundLoop, guarded, inBackground, isLooseleafError, onRejected } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine'
import { checkStore, shardAt } from '@looseleaf/protocol'
import { DEFAULT_SETTLE_MS } from '../check/check-index.ts'
import type { CleanProgress } from '../clean/progress.ts'
import { countsOf } from '../clean/tell-cleaning.ts'
import { drainKnown } from '../drain/drain-pending.ts'
import { createExpiryRounds, type ExpiryRounds } from '../expire/expiry-rounds.ts'
import { cleanableIndexes, indexTarget } from '../pass/index-target.ts'
import { countByIndex, createPass } from '../pass/pass.ts'
import type { Tally } from '../pass/tally.ts'
import type { CleanerStore } from '../pass/cleaner-store.ts'
import { createThrottle } from '../pass/throttle.ts'
import { createPurger } from '../purge/purger.ts'
import { createKeptRemovals } from '../repair/kept-removals.ts'
import { createReporter, type Reporter, type RoundError } from '../report/summary.ts'
import { createTail, type Tail } from '../tail/tail.ts'
import { cleanerOptionKinds, type CleanerOptions } from './cleaner-options.ts'
import { createIndexKeeper } from './keep-indexes.ts'
import { createMarkKeeper } from '../tampering/keep-marks.ts'
import { createWitnessKeeper } from '../tampering/keep-witnesses.ts'

export interface CleanerStatus {
  /** False once it was stopped, or its store was closed. */
  readonly isRunning: boolean
  /** Per shard, in their order. */
  readonly shards: readonly {
    /** False when another process follows this shard, or none could be reached yet. */
    readonly isMine: boolean
    /** When the last round ended well; undefined before the first. */
    readonly lastRoundAt: Date | undefined
    /** How old the oldest update is that the last round had no time for; 0 when there is none. */
    readonly lagMs: number
  }[]
  /** What this cleaner has done since it was started. */
  readonly totals: Tally
  /** Tombstones that this cleaner has purged since it was started. */
  readonly purged: number
  /** Entities that this cleaner has deleted because they had expired. */
  readonly expired: number
  /** Names of the indexes that this process is filling, and sweeping. */
  readonly filling: readonly string[]
  readonly sweeping: readonly string[]
  /** Where the filling and the sweeping stand, the last word of each shard. */
  readonly progress: readonly CleanProgress[]
  readonly lastError: RoundError | undefined
}

export interface Cleaner {
  /** Ends what is under way at the next page, saves how far it came, and lets other processes take over. */
  stop(): Promise<void>
  /** `stop`, for `await using cleaner = startCleaner(store)`. */
  [Symbol.asyncDispose](): Promise<void>
  status(): CleanerStatus
}

const HOUR = 3_600_000

/**
 * Keeps the indexes of a store in step for as long as the process runs: follows the writes, fills indexes that were
 * added, sweeps everything from time to time, and purges old tombstones. Run one in some or all processes of the store; they share the work.
 * No failure is thrown: `status` and `onError` tell of it, and the work is tried again. It ends with its store, whose
 * `close` waits for that, for up to five seconds.
 */
export function startCleaner(store: CleanerStore, given: CleanerOptions = {}): Cleaner {
  checkStore('startCleaner', store, given, cleanerOptionKinds)
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
    // Somebody was told of the end already: every other loop meets it too.
    if (signal.aborted) return
    reporter.failed(error)
    context.events.happened({
      kind: 'cleaner_failed',
      code: isLooseleafError(error) ? error.code : 'UNKNOWN',
    })
    // The store was closed before, and stays so.
    if (isLooseleafError(error, 'CLOSED')) controller.abort()
    tellError(given.onError, error)
  }
  const options: CleanerOptions = {
    ...given,
    ...(given.onProblem && { onProblem: (problem) => onRejected(given.onProblem?.(problem), onError) }),
    ...(given.onProgress && { onProgress: (progress) => onRejected(given.onProgress?.(progress), onError) }),
  }
  const throttle = createThrottle(time, options.rowsPerSecond)
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
    { throttle, onWork: reporter.found },
    onError,
  )
  const tails = context.driver.shards.map((_, shard) =>
    followShard(context, shard, options, { signal, owner, leaseMs, reporter, expiry }),
  )
  const purger = createPurger(context, { owner, leaseMs, signal, onError })
  const marks = createMarkKeeper(context, owner)
  const witnesses = createWitnessKeeper(context, {
    owner,
    isMine: (shard) => tails[shard]?.tail.isMine === true,
    settleMs: options.settleMs ?? DEFAULT_SETTLE_MS,
  })
  const drainRemovals = createKeptRemovals(context)
  // Whoever starts it may do so within a call or a trace.
  const loops = context.events.detached(() => [
    ...tails.map(({ round }) => backgroundLoop({ time, signal, round, onError })),
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
        await keeper.startDue({ signal }, marks.unsweptSince)
        await reporter.save({ signal })
        await purger.purgeDue()
        return options.catalogMs ?? 3_000
      },
    }),
  ])

  let stopped: Promise<void> | undefined
  const stop = (): Promise<void> => (stopped ??= end())
  const leave = context.closing.join(stop, leaseMs)
  async function end(): Promise<void> {
    controller.abort()
    leave()
    await Promise.all(loops)
    await Promise.all([keeper.ended(), expiry.ended()])
    // What cannot be saved now is found again: leases run out, and rounds begin where they were saved last.
    await Promise.allSettled([...tails.map(({ tail }) => tail.release()), reporter.save()])
  }

  return {
    stop,
    [Symbol.asyncDispose]: stop,
    status: () => ({
      isRunning: !signal.aborted,
      shards: tails.map(({ tail, lastRoundAt }) => ({
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

/** An error of whoever is told of errors ends neither the cleaner nor the process. */
function tellError(onError: CleanerOptions['onError'], error: unknown): void {
  guarded(
    () => onError?.(error),
    (failure) =>
      process.emitWarning(`onError of startCleaner failed: ${String(failure)}`, 'LooseleafWarning'),
  )
}

interface Follower {
  readonly tail: Tail
  readonly round: () => Promise<number>
  readonly lastRoundAt: () => Date | undefined
}

function followShard(
  context: EngineContext,
  shard: number,
  options: CleanerOptions,
  own: {
    readonly signal: AbortSignal
    readonly owner: string
    readonly leaseMs: number
    readonly reporter: Reporter
    readonly expiry: ExpiryRounds
  },
): Follower {
  const tail = createTail(context, shard, {
    owner: own.owner,
    leaseMs: own.leaseMs,
    rowsPerRound: options.rowsPerRound ?? 5_000,
    lookBackMs: options.lookBackMs ?? HOUR,
    maxLagMs: options.maxLagMs ?? 24 * HOUR,
  })
  const intervalMs = options.intervalMs ?? 1_000
  const idleIntervalMs = Math.max(intervalMs, options.idleIntervalMs ?? 5_000)
  let pause = intervalMs
  let lastRoundAt: number | undefined

  async function round(): Promise<number> {
    const { signal } = own
    const { graceMs, onProblem } = options
    const { pass, all, removed } = countByIndex(createPass(context, { signal, graceMs, onProblem }))
    // As of now: another round may read the catalog before this one fails.
    const known = cleanableIndexes(context)
    try {
      const targets = known.map((entry) => indexTarget(context, entry))
      const looked = await tail.round(pass, targets)
      lastRoundAt = context.time.now()
      // The tail's lease on the shard keeps other processes from deleting there at the same time.
      if (tail.isMine) own.expiry.start(shard)
      pause = looked === 0 || looked === undefined ? Math.min(pause * 2, idleIntervalMs) : intervalMs
      return tail.lagMs > 0 ? 0 : pause
    } catch (error) {
      if (!isLooseleafError(error, 'INDEX_NOT_FOUND')) throw error
      // An index was dropped that this process still knew; without it the round goes through.
      await context.catalog.reload({ signal })
      const still = new Set(cleanableIndexes(context).map(({ table }) => table))
      if (known.every(({ table }) => still.has(table))) throw error
      return 0
    } finally {
      const tally = all()
      own.reporter.found(tally)
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
    round,
    lastRoundAt: () => (lastRoundAt === undefined ? undefined : new Date(lastRoundAt)),
  }
}
