import type { Time } from '@looseleaf/core'
import { sumTallies, type Tally } from '../pass/tally.ts'
import type { Part, Phase } from './part.ts'

/** Where a cleaning stands on one shard; told after every page, and once with `ready` at the end. */
export interface CleanProgress {
  /** The phase under way: entities to rows, rows to entities, the final check; `ready` when all is done. */
  readonly phase: Phase | 'ready'
  /** The indexes that are cleaned together. */
  readonly indexes: readonly string[]
  /** The number of the shard, from 0. */
  readonly shard: number
  /** Entities (or rows, while dangling ones are looked for) of this shard done in this phase. */
  readonly done: number
  /** How many there were when the phase began, never less than `done`. */
  readonly total: number
  /** Rows added on this shard so far, for all these indexes, over all phases; the same holds for the counts below. */
  readonly added: number
  readonly removed: number
  readonly fenced: number
  readonly waiting: number
  readonly misfits: number
  readonly undecodable: number
  /** Entities and rows per second that this process has read so far, over all shards. */
  readonly rate: number
}

export interface ProgressMeter {
  tell(
    phase: Phase | 'ready',
    shard: number,
    parts: readonly { readonly index: string; readonly part: Part }[],
  ): void
  /** Counts entities or rows just read, for the rate. */
  count(rows: number): void
  /** Takes in what a page's work has done. */
  did(tally: Tally): void
}

export function createProgressMeter(
  time: Time,
  onProgress: ((progress: CleanProgress) => void) | undefined,
  onWork?: (tally: Tally) => void,
): ProgressMeter {
  const startedAt = time.now()
  let rows = 0
  return {
    count(more) {
      rows += more
    },
    did: (tally) => onWork?.(tally),
    tell(phase, shard, parts) {
      if (onProgress === undefined) return
      const done = Math.max(0, ...parts.map(({ part }) => part.seen))
      const { added, removed, fenced, waiting, misfits, undecodable }: Tally = sumTallies(
        parts.map(({ part }) => part.tally),
      )
      onProgress({
        phase,
        indexes: [...new Set(parts.map(({ index }) => index))],
        shard,
        done,
        total: Math.max(done, ...parts.map(({ part }) => part.total)),
        added,
        removed,
        fenced,
        waiting,
        misfits,
        undecodable,
        rate: Math.round((rows * 1000) / Math.max(1, time.now() - startedAt)),
      })
    },
  }
}
