import type { Operation } from '../history/evidence.ts'
import type { History } from '../history/history.ts'
import type { KeyCheck } from '../tables/key-check.ts'
import { createLife } from '../steps/life.ts'
import { repair } from '../processes/operator.ts'
import type { Scheduler } from '../steps/scheduler.ts'
import type { World } from '../world/world.ts'

/** Failovers of whole shards, which lose index rows, and the operator who repairs them. */
export interface Fallbacks {
  /** Number of failovers so far. */
  count(): number
  /** Number of repairs after which all promises held again. */
  repairs(): number
  /** False from a failover until its repair. */
  isWhole(): boolean
  /** False while the operator repairs. */
  isRepaired(): boolean
  /** Tells whether the operation began after the last repair. */
  isSince(operation: Operation): boolean
  /** Call when a shard has fallen back. */
  happened(): void
}

export interface FallbacksOptions {
  readonly world: World
  readonly scheduler: Scheduler
  readonly history: History
  readonly keys: KeyCheck
  /** Whether writes in flight restart after a repair, as they should. */
  readonly restart: boolean
  /** Runs the world until this work has ended. */
  track(work: Promise<void>): void
  /** Returns the number of processes whose clients are still working. */
  busy(): number
}

export function createFallbacks(options: FallbacksOptions): Fallbacks {
  const { world, scheduler, history, keys, restart } = options
  let count = 0
  let repairs = 0
  let isWhole = true
  let isRepaired = true
  /** Operations up to this number began before the last repair. */
  let begunBefore = 0
  /** Moment of that repair, as a number of changes of the databases. */
  let repairedAt = 0

  /** Repairs the failover, and those that happen during the repair. */
  async function repairAll(): Promise<void> {
    isRepaired = false
    let before: number
    do {
      before = count
      const life = createLife(`operator${before}`)
      const isDone = await repair({
        open: (migrate) => world.open(life, migrate),
        time: scheduler.timeOf(life),
        restart,
      })
      if (!isDone) break
      if (before === count) {
        isWhole = true
        keys.promisedAgain()
        begunBefore = history.counts.operations
        repairedAt = history.moment()
        repairs++
        scheduler.note(`-- the operator has repaired it; ${options.busy()} processes are busy`)
      }
    } while (before !== count)
    isRepaired = true
  }

  return {
    count: () => count,
    repairs: () => repairs,
    isWhole: () => isWhole,
    isRepaired: () => isRepaired,
    isSince: ({ number, since }) => number > begunBefore && since >= repairedAt,
    happened() {
      isWhole = false
      count++
      if (isRepaired) options.track(repairAll())
    },
  }
}
