import { elapsedBy } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { emptySources } from '@looseleaf/mover/internal'

/** Milliseconds from the end of a look for moves whose source is to be emptied to the next look. Most movers empty it themselves. */
const EVERY_MS = 10_000

/** Empties the sources of moves whose consumers had changes to handle there when their mover ended, in the background of a cleaner. */
export interface MoveFinisher {
  /** Begins a look, unless one is in flight or none is due. */
  startDue(): void
  /** Resolves when every look has ended. Never rejects. */
  ended(): Promise<void>
}

export function createMoveFinisher(
  context: EngineContext,
  options: { readonly signal: AbortSignal; readonly rowsPerSecond: number | undefined },
  onError: (error: unknown) => void,
): MoveFinisher {
  const elapsed = elapsedBy(context.time)
  let dueAt = -Infinity
  let inFlight: Promise<void> | undefined

  async function look(): Promise<void> {
    try {
      await emptySources(context, options)
    } catch (error) {
      if (!options.signal.aborted) onError(error)
    } finally {
      dueAt = elapsed() + EVERY_MS
      inFlight = undefined
    }
  }

  return {
    startDue() {
      // A store that never moved a bucket sends no statement for this.
      const hasMoved = context.catalog.current().shards.some((shard) => shard?.serves?.away !== undefined)
      if (hasMoved && inFlight === undefined && elapsed() >= dueAt) inFlight = look()
    },
    ended: async () => inFlight,
  }
}
