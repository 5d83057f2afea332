import { isLooseleafError } from '@looseleaf/core'
import { backgroundLoop } from '@looseleaf/core/internal'
import { presentNumbers, type EngineContext } from '@looseleaf/index-engine/internal'
import { shardAt } from '@looseleaf/protocol/internal'
import { countsOf } from '../clean/cleaning-events.ts'
import type { ExpiryRounds } from '../expire/expiry-rounds.ts'
import { cleanableIndexes, indexTarget } from '../pass/index-target.ts'
import { countByIndex, createPass } from '../pass/pass.ts'
import type { Tuning } from '../pass/tuning.ts'
import type { Reporter } from '../report/summary.ts'
import { createTail } from '../tail/tail.ts'
import type { CleanerOptions } from './cleaner-options.ts'
import type { CleanerStatus } from './cleaner-status.ts'

/** Loops that follow the recent writes, one for each shard. */
export interface Tails {
  /** Starts the loops of shards without one: at first all, later those that have joined. Ends, and returns, those of removed shards. */
  follow(): readonly number[]
  isMine(shard: number): boolean
  /** One item per shard, in the order of the shards. */
  status(): CleanerStatus['shards']
  /** Resolves when every loop has ended. */
  ended(): Promise<unknown>
  /** Gives up the leases. A lease that cannot be given up expires. */
  release(): Promise<unknown>
}

/** Resources that the tails share with the rest of the cleaner. */
interface Shared {
  readonly signal: AbortSignal
  readonly owner: string
  readonly leaseMs: number
  readonly reporter: Reporter
  readonly expiry: ExpiryRounds
  readonly onError: (error: unknown) => void
}

export function createTails(context: EngineContext, options: CleanerOptions & Tuning, shared: Shared): Tails {
  /** By shard number, without removed shards. */
  const followers = new Map<number, Follower>()
  const loops: Promise<void>[] = []

  return {
    follow() {
      for (const shard of presentNumbers(context.driver)) {
        if (followers.has(shard) || shared.signal.aborted) continue
        const follower = followShard(context, shard, options, shared)
        followers.set(shard, follower)
        const { signal, round } = follower
        loops.push(backgroundLoop({ time: context.time, signal, round, onError: shared.onError }))
      }
      const removed = [...followers.keys()].filter((shard) => context.driver.removed?.has(shard))
      for (const shard of removed) {
        followers.get(shard)!.leave()
        followers.delete(shard)
      }
      return removed
    },
    isMine: (shard) => followers.get(shard)?.tail.isMine === true,
    status: () =>
      Array.from(followers.values(), ({ tail: { isMine, lagMs }, lastRoundAt }) => ({
        isMine,
        lagMs,
        lastRoundAt: lastRoundAt(),
      })),
    ended: () => Promise.all(loops),
    release: () => Promise.allSettled(Array.from(followers.values(), ({ tail }) => tail.release())),
  }
}

type Follower = ReturnType<typeof followShard>

function followShard(
  context: EngineContext,
  shard: number,
  options: CleanerOptions & Tuning,
  { owner, leaseMs, reporter, expiry, signal: stopped }: Shared,
) {
  const tail = createTail(context, shard, {
    owner,
    leaseMs,
    rowsPerRound: options.rowsPerRound ?? 5_000,
    lookBackMs: options.lookBackMs,
    maxLagMs: options.maxLagMs,
  })
  const intervalMs = options.intervalMs ?? 1_000
  const idleIntervalMs = Math.max(intervalMs, options.idleIntervalMs)
  let pause = intervalMs
  let lastRoundAt: number | undefined
  const left = new AbortController()
  // Fires at the end of the cleaner, and when it leaves the shard.
  const signal = AbortSignal.any([stopped, left.signal])

  async function round(): Promise<number> {
    const { graceMs, onProblem } = options
    const { pass, total, tallyFor, removed } = countByIndex(
      createPass(context, { signal, graceMs, onProblem }),
    )
    // Read before the round: another round may reload the catalog while this one fails.
    const known = cleanableIndexes(context)
    const targets = known.map((entry) => indexTarget(context, entry))
    try {
      const looked = await tail.round(pass, targets)
      lastRoundAt = context.time.now()
      // The lease of the tail ensures that only one process deletes expired entities of the shard.
      if (tail.isMine) expiry.start(shard)
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
      // The first rows of an index that is being filled were not missing.
      for (const target of targets)
        if (target.entry.state === 'building') tally.added -= tallyFor(target).added
      reporter.count(tally)
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
