import type { CallOptions } from '@looseleaf/core'
import { elapsedBy } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { isHalted, type IndexTarget } from '../pass/index-target.ts'

/** Tracks the fillings of a job that were halted after it began: paused, or their index hidden. */
export interface Halts {
  /** Reloads the catalog if that is due; never if the job fills no index. */
  refresh(options: CallOptions): Promise<void>
  /** Tells whether the filling was halted. It stays so for this job; after a resume, the next job takes it up. */
  has(target: IndexTarget): boolean
}

export function createHalts(context: EngineContext, targets: readonly IndexTarget[], everyMs: number): Halts {
  const halted = new Set<string>()
  const filling = targets.filter(({ entry }) => entry.state === 'building').map(({ entry }) => entry.table)
  const elapsed = elapsedBy(context.time)
  let refreshedAt = elapsed()

  return {
    async refresh(options) {
      const now = elapsed()
      if (filling.length === halted.size || now - refreshedAt < everyMs) return
      refreshedAt = now
      const { indexes } = await context.catalog.reload(options)
      for (const entry of indexes)
        if (filling.includes(entry.table) && isHalted(entry)) halted.add(entry.table)
    },
    has: ({ entry }) => halted.has(entry.table),
  }
}
