import type { Operation } from './evidence.ts'
import type { History } from './history.ts'
import type { KeyCheck } from './key-check.ts'
import { createLife } from './life.ts'
import { repair } from './operator.ts'
import type { Scheduler } from './scheduler.ts'
import type { World } from './world.ts'

/** Whole shards that have fallen back to what they held before, which loses index rows, and an operator who repairs that. */
export interface Fallbacks {
  /** So many so far. */
  count(): number
  /** How often everything was promised again. */
  repairs(): number
  /** False from when a shard has fallen back until somebody has repaired it. */
  isWhole(): boolean
  /** False while the operator is at work. */
  isRepaired(): boolean
  /** Whether it began after the last repair. */
  isSince(operation: Operation): boolean
  /** A shard has fallen back. */
  happened(): void
}

export interface FallbacksOptions {
  readonly world: World
  readonly scheduler: Scheduler
  readonly history: History
  readonly keys: KeyCheck
  /** Whether writes that are under way have to begin again, as they should. */
  readonly restart: boolean
  /** The world goes on until it has ended. */
  track(work: Promise<void>): void
  /** How many processes have clients that are still at work. */
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
  /** What the databases had gone through at that repair. */
  let repairedAt = 0

  /** What a failover has lost, and what another one has lost meanwhile. */
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
