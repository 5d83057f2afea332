import type { EngineContext } from '@looseleaf/index-engine/internal'
import type { DanglingRow } from '../look/inspect.ts'
import type { PassOptions } from '../pass/pass-options.ts'
import type { Tuned } from '../pass/tuning.ts'
import { createPass, type Pass } from '../pass/pass.ts'
import { createKeptRemovals, type KeptRemovals, type RemovedRows } from './kept-removals.ts'

export interface RepairPass extends Pass {
  /** Dangling rows that wait for their delete, also after the pass has ended. */
  readonly removals: KeptRemovals
  /** Tells whether a dangling row, stamped no later than its entity, is left to its writer. Default: none is. */
  readonly leaves?: ((found: DanglingRow) => boolean) | undefined
}

/** Creates a repair pass. Pass `throttle` or `removals` to share them with other passes; default: new ones. */
export function createRepairPass(
  context: EngineContext,
  options: Tuned<PassOptions> = {},
  { throttle, removals }: Partial<Pick<RepairPass, 'throttle' | 'removals'>> = {},
): RepairPass {
  return { ...createPass(context, options, throttle), removals: removals ?? createKeptRemovals(context) }
}

/** Adds rows that `pass.removals` has deleted to the counts. */
export function countRemoved(pass: Pass, removed: RemovedRows): void {
  for (const [target, count] of removed) pass.tallyOf(target).removed += count
}
