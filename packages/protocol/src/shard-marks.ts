import type { CallOptions, Shard } from '@looseleaf/core'
import { countsIn, isOfShard, parseObject, toObject } from '@looseleaf/core/internal'

/*
 * Detects a shard that has gone back, by a restore from a backup or a failover that lost commits. The mark of a shard is a number that
 * only grows. The shard stores it, and after that commit the next shard stores a note of it. If a mark is below its note, the
 * shard has gone back.
 *
 * The next shard of the last one is the first. When a shard joins, the note of the shard before moves from the first one to the new one. Each note
 * has the number of its shard in its name, so that the old note is never taken for one of the new shard, and it still counts. A removed
 * shard takes the note of the shard before along, which gets a new one at its next mark.
 */

/** Name of the task with the mark of its shard. */
export const MARK_TASK = 'shard-mark'

export const noteTask = (shard: number): string => `shard-mark-note-${shard}`

export interface ShardMark {
  /** 0 before the first mark. */
  readonly mark: number
  /** Time of the mark in milliseconds since 1970, by the clock of the process that raised it; 0 before the first mark. */
  readonly at: number
  /** The last known time when the shard went back. */
  readonly wentBack?: Rewind | undefined
}

export interface Rewind {
  /** Commits between these two times are lost (milliseconds since 1970, to about a minute); 0 if unknown. */
  readonly to: number
  readonly from: number
  /** Time of the detection in milliseconds since 1970, by the clock of the process. */
  readonly foundAt: number
  /** Whether every index was swept by a cleaning that began after the detection. */
  readonly isSwept: boolean
}

/** A mark and its note. */
export interface MarkLook {
  readonly shard: number
  readonly own: ShardMark
  /** Note of the mark on the next shard, or on the first one. A store with one shard has no notes; this is the mark itself then. */
  readonly noted: ShardMark
}

/**
 * Reads the marks of these shards and their notes, in order; the shards are all that a store has. Leaves out shards that are undefined or
 * unreachable, and those whose notes cannot be read.
 */
export async function lookAtMarks(
  shards: readonly (readonly [number: number, shard: Shard | undefined])[],
  options?: CallOptions,
): Promise<readonly MarkLook[]> {
  const count = shards.length
  const all = shards.map(([number]) => number)
  // The first shard was the next one of each shard that was the last one once.
  const noted = all.map((_, place) => (place === 0 ? all : [all[place - 1]!]))
  const found = await Promise.all(shards.map(([, shard], place) => readMarks(shard, noted[place]!, options)))
  const looks = await Promise.all(
    shards.map(async ([number, shard], place): Promise<MarkLook | undefined> => {
      const own = found[place]?.own
      const note = count === 1 ? own : noteOf(number, found[(place + 1) % count]?.notes, found[0]?.notes)
      if (own === undefined || note === undefined) return undefined
      if (own.mark >= note.mark) return { shard: number, own, noted: note }
      // The mark may have been raised between the reads of mark and note, so it is read again.
      const again = await readMarks(shard, [], options)
      return again && { shard: number, own: again.own, noted: note }
    }),
  )
  return looks.filter((look) => look !== undefined)
}

type Notes = ReadonlyMap<number, ShardMark>

/** Returns the note of the next shard, or that of the first one if the next shard has joined since. */
function noteOf(shard: number, next: Notes | undefined, first: Notes | undefined): ShardMark | undefined {
  const note = next?.get(shard)
  return note?.mark === 0 ? first?.get(shard) : note
}

/** Reads the mark of a shard, and its notes of these shards. Returns undefined if it does not answer. */
async function readMarks(
  shard: Shard | undefined,
  noted: readonly number[],
  options: CallOptions | undefined,
): Promise<{ readonly own: ShardMark; readonly notes: Notes } | undefined> {
  if (shard === undefined) return undefined
  try {
    const states = await shard.tasks.loadAll([MARK_TASK, ...noted.map(noteTask)], options)
    const markOf = (task: string): ShardMark => markFromText(states.get(task)?.progress ?? '')
    return {
      own: markOf(MARK_TASK),
      notes: new Map(noted.map((number) => [number, markOf(noteTask(number))])),
    }
  } catch (error) {
    if (!isOfShard(error)) throw error
    return undefined
  }
}

/** Returns when a shard went back: by this reading if it detects that, otherwise by the record. */
export function rewindOf({ own, noted }: MarkLook, now: number): Rewind | undefined {
  return own.mark < noted.mark
    ? { to: earlier(own), from: noted.at, foundAt: now, isSwept: false }
    : own.wentBack
}

/** Returns the earliest time to which the shard has gone back since its last sweep. */
function earlier({ at, wentBack }: ShardMark): number {
  return wentBack === undefined || wentBack.isSwept ? at : Math.min(at, wentBack.to)
}

export function markToText(mark: ShardMark): string {
  return JSON.stringify(mark)
}

/** Parses a text of `markToText`. Any other text gives the state before the first mark. */
export function markFromText(text: string): ShardMark {
  const value = parseObject(text) ?? {}
  const back = toObject(value['wentBack'])
  return {
    ...countsIn(value, ['mark', 'at']),
    ...(back && {
      wentBack: { ...countsIn(back, ['to', 'from', 'foundAt']), isSwept: back['isSwept'] === true },
    }),
  }
}

/** Describes the lost commits of a shard. */
export function rewindText({ to, from }: Pick<Rewind, 'to' | 'from'>): string {
  const timeText = (time: number): string =>
    time === 0 ? 'an unknown time' : new Date(time).toISOString().replace(/\.\d+Z$/, 'Z')
  return `has gone back in time, as after a restore or a failover: its commits between ${timeText(to)} and ${timeText(from)} are lost, to about a minute`
}
