import type { EngineContext } from '@looseleaf/index-engine/internal'
import type { DanglingRow } from '../look/inspect.ts'
import type { PassOptions } from '../pass/pass-options.ts'
import type { Tuned } from '../pass/tuning.ts'
import { createPass, type Pass } from '../pass/pass.ts'
import { createKeptRemovals, type KeptRemovals } from './kept-removals.ts'

export interface RepairPass extends Pass {
  /** Dangling rows that wait for their delete, also after the pass has ended. */
  readonly removals: KeptRemovals
  /** Tells whether a dangling row, stamped no later than its entity, is left to its writer. Default: none is. */
  readonly leaves?: ((found: DanglingRow) => boolean) | undefined
}

/** Creates a repair pass. Pass `throttle` or `removals` to share them with other passes; default: new ones, whose deletes the pass counts. */
export function createRepairPass(
  context: EngineContext,
  options: Tuned<PassOptions> = {},
  { throttle, removals }: Partial<Pick<RepairPass, 'throttle' | 'removals'>> = {},
): RepairPass {
  const pass = createPass(context, options, throttle)
  return {
    ...pass,
    removals:
      removals ??
      createKeptRemovals(context, (target, count) => void (pass.tallyOf(target).removed += count)),
  }
}
