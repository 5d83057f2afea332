import { elapsedBy, type CallOptions } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine'
import { isHalted, type IndexTarget } from '../pass/index-target.ts'

/** Which fillings of a job are halted: stopped by somebody since it began, by pausing them or hiding their index. */
export interface Halts {
  /** Reads the catalog, where that is due; it is not where nothing is being filled. */
  look(options: CallOptions): Promise<void>
  /** From then on the job leaves it alone, even if it is resumed at once: that is for the next job. */
  has(target: IndexTarget): boolean
}

export function createHalts(context: EngineContext, targets: readonly IndexTarget[], everyMs: number): Halts {
  const halted = new Set<string>()
  const filling = targets.filter(({ entry }) => entry.state === 'building').map(({ entry }) => entry.table)
  const elapsed = elapsedBy(context.time)
  let lookedAt = elapsed()

  return {
    async look(options) {
      const now = elapsed()
      if (filling.length === halted.size || now - lookedAt < everyMs) return
      lookedAt = now
      const { indexes } = await context.catalog.reload(options)
      for (const entry of indexes)
        if (filling.includes(entry.table) && isHalted(entry)) halted.add(entry.table)
    },
    has: ({ entry }) => halted.has(entry.table),
  }
}
