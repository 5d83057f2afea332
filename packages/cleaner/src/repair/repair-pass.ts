import type { EngineContext } from '@looseleaf/index-engine'
import type { DanglingRow } from '../look/inspect.ts'
import type { PassOptions } from '../pass/pass-options.ts'
import { createPass, type Pass } from '../pass/pass.ts'
import { createKeptRemovals, type KeptRemovals, type RemovedRows } from './kept-removals.ts'

/** A pass that changes rows. */
export interface RepairPass extends Pass {
  /** Rows that are still to be deleted when the pass has done its work. */
  readonly removals: KeptRemovals
  /** Whether a dangling row with no later stamp than its entity is left to its writer; without this none is. */
  readonly leaves?: ((found: DanglingRow) => boolean) | undefined
}

/** `throttle`, `removals`: shared with other passes; by default its own. */
export function createRepairPass(
  context: EngineContext,
  options: PassOptions = {},
  { throttle, removals }: Partial<Pick<RepairPass, 'throttle' | 'removals'>> = {},
): RepairPass {
  return { ...createPass(context, options, throttle), removals: removals ?? createKeptRemovals(context) }
}

/** Takes in what `pass.removals` has deleted. */
export function countRemoved(pass: Pass, removed: RemovedRows): void {
  for (const [target, count] of removed) pass.tallyOf(target).removed += count
}
