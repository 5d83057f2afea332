import type { LayoutMove } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import type { MoveOptions } from './move-options.ts'
import type { MoveReport } from './move-report.ts'
import type { Tuned } from './tuning.ts'
import { sharedWork, workOn, type Announcement } from './work-on-move.ts'

/**
 * Moves of one call. One move at a time copies, hands over or deletes; the others wait meanwhile for calls of other processes, as each
 * move has to before its first bucket is handed over, and after its last one.
 */
export interface MoveLine {
  /**
   * Begins to work on a move. Resolves with true when the next one may begin, because this one is over or only waits and deletes from now on;
   * with false if it has failed.
   */
  begin(move: LayoutMove, announcement?: Announcement): Promise<boolean>
  /** Resolves with the reports of all moves, in their order, when the work on all of them has ended. Rejects with the first error. */
  ended(): Promise<readonly MoveReport[]>
  /** As `ended`, with the error of each move that has failed. Never rejects. */
  settled(): Promise<readonly PromiseSettledResult<MoveReport>[]>
}

export function createMoveLine(context: EngineContext, options: Tuned<MoveOptions>): MoveLine {
  const shared = sharedWork(context, options)
  const moves: Promise<MoveReport>[] = []
  return {
    async begin(move, announcement = { at: undefined }) {
      const handedOver = Promise.withResolvers<boolean>()
      const line = { ...shared, announcement, onHandedOver: () => handedOver.resolve(true) }
      const work = workOn(context, move, options, { line })
      moves.push(work)
      const hasSucceeded = work.then(() => true).catch(() => false)
      return Promise.race([handedOver.promise, hasSucceeded])
    },
    async ended() {
      await Promise.allSettled(moves)
      return Promise.all(moves)
    },
    settled: () => Promise.allSettled(moves),
  }
}
