import type { Step } from '../explore.ts'

/** A place in the table of entities of a shard. A filling reads place 1, then place 2. */
export type Row = 0 | 1 | 2

/** A shard, seen from one bucket and its only entity, which was written before the index existed. */
interface FilledShard {
  /** The move by which the shard came to own the bucket; 0 if it always did; null if it does not own it. */
  arrival: number | null
  /** Place of the entity's row; 0 for none. */
  row: Row
}

/**
 * Stored progress of a filling on one shard. `note` is the arrival of the bucket that the reading began with: null if it is not read whole, and
 * undefined before a reading.
 */
export interface FilledPart {
  isPast: boolean
  place: Row
  note?: number | null
  /** Whether a reading has had the bucket from its beginning to its end. */
  hasRead: boolean
}

/** A bucket that moves between two shards while an index is filled. */
export interface FillWorld {
  readonly shards: [FilledShard, FilledShard]
  readonly parts: [FilledPart, FilledPart]
  /** Whether the index has the row of the entity. */
  hasIndexRow: boolean
  isReady: boolean
}

export interface FillMemory {
  shard: 0 | 1
  /** Arrival of the bucket at the last look; null if the shard did not own it. */
  known: number | null
  part: FilledPart
  found: boolean
  moves: number
}

/** Guards of a filling while buckets move. The tests turn each off to show what breaks. */
export interface FillGuards {
  /** Buckets that no part has read are read at their owner before the index becomes ready. */
  readonly unreadAreRead: boolean
  /** A part counts a bucket that its shard owned when the reading began. */
  readonly notesFirst: boolean
  /** It counts only if the shard owns the bucket after the last page, too. */
  readonly looksAtEnd: boolean
  /** A bucket that left and came back counts as another one. */
  readonly arrivalsAreCompared: boolean
  /** The buckets are saved with the place, for the worker that resumes. */
  readonly notesAreSaved: boolean
  /** An unread bucket is read from the place before its copies. */
  readonly readsFromArrival: boolean
}

export const allFillGuards: FillGuards = {
  unreadAreRead: true,
  notesFirst: true,
  looksAtEnd: true,
  arrivalsAreCompared: true,
  notesAreSaved: true,
  readsFromArrival: true,
}

export type FillStep = Step<FillWorld, FillMemory>
export type FillProcess = readonly FillStep[]

const freshPart = (): FilledPart => ({ isPast: false, place: 0, hasRead: false })

/** Returns a world in which the part of shard 0 has this progress. */
export function fillWorld(part: FilledPart = freshPart()): FillWorld {
  return {
    shards: [
      { arrival: 0, row: 2 },
      { arrival: null, row: 0 },
    ],
    parts: [part, freshPart()],
    hasIndexRow: false,
    isReady: false,
  }
}

export const noFillMemory = (): FillMemory => ({
  shard: 0,
  known: null,
  part: freshPart(),
  found: false,
  moves: 0,
})

/** Returns a broken promise: the index is ready and lacks the row of the entity. */
export function missingRow({ isReady, hasIndexRow }: FillWorld): string | undefined {
  return isReady && !hasIndexRow ? 'the index is ready and lacks a row' : undefined
}
