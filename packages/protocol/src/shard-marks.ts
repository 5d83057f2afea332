import {
  countIn,
  isLooseleafError,
  parseObject,
  toObject,
  type CallOptions,
  type Shard,
} from '@looseleaf/core'

/*
 * A shard that was restored from a backup, or was failed over to a server without its last commits, looks like any other. Its mark tells: a number
 * that only grows, kept on the shard itself, and noted on the next shard after it was committed. A mark below its note is a shard that
 * has gone back.
 */

/** The task of a shard that holds its own mark. */
export const MARK_TASK = 'shard-mark'
/** The task of a shard that holds the mark of the shard before it. */
export const NOTE_TASK = 'shard-mark-note'

export interface ShardMark {
  /** 0 before the first. */
  readonly mark: number
  /** When it was raised, in milliseconds since 1970 by the clock of the process; 0 before the first. */
  readonly at: number
  /** The last time that the shard was found to have gone back. */
  readonly wentBack?: WentBack | undefined
}

export interface WentBack {
  /** Times between which its commits are lost, to about a minute, in milliseconds since 1970; 0 where unknown. */
  readonly to: number
  readonly from: number
  /** When that was found, in milliseconds since 1970 by the clock of the process. */
  readonly foundAt: number
  /** Whether every index was swept since, by a cleaning that began later. */
  readonly isSwept: boolean
}

/** A shard's mark, and its note on the next shard. */
export interface MarkLook {
  readonly shard: number
  readonly own: ShardMark
  /** The same as `own` where the store has one shard, which nothing is noted of. */
  readonly noted: ShardMark
}

/**
 * Reads the marks of these shards, in their order, and their notes. A shard that is undefined, or cannot be read, is left out, and so is
 * the one before it.
 */
export async function lookAtMarks(
  shards: readonly (Shard | undefined)[],
  options?: CallOptions,
): Promise<readonly MarkLook[]> {
  const found = await Promise.all(shards.map((shard) => readBoth(shard, options)))
  const looks = await Promise.all(
    shards.map(async (shard, number): Promise<MarkLook | undefined> => {
      const own = found[number]?.own
      const noted = found.length === 1 ? own : found[(number + 1) % found.length]?.note
      if (shard === undefined || own === undefined || noted === undefined) return undefined
      if (own.mark >= noted.mark) return { shard: number, own, noted }
      // The note may be the later reading of the two, of a mark that was raised in between.
      const again = await readBoth(shard, options)
      return again && { shard: number, own: again.own, noted }
    }),
  )
  return looks.filter((look) => look !== undefined)
}

async function readBoth(
  shard: Shard | undefined,
  options: CallOptions | undefined,
): Promise<{ readonly own: ShardMark; readonly note: ShardMark } | undefined> {
  try {
    const states = await shard?.tasks.loadAll([MARK_TASK, NOTE_TASK], options)
    const markOf = (task: string): ShardMark => markFromText(states?.get(task)?.progress ?? '')
    return states && { own: markOf(MARK_TASK), note: markOf(NOTE_TASK) }
  } catch (error) {
    if (!isLooseleafError(error) || error.code === 'ABORTED' || error.code === 'CLOSED') throw error
    return undefined
  }
}

/** When a shard went back, as of a look: what is on record, or what this look finds first. */
export function wentBackOf({ own, noted }: MarkLook, now: number): WentBack | undefined {
  return own.mark < noted.mark
    ? { to: earlier(own), from: noted.at, foundAt: now, isSwept: false }
    : own.wentBack
}

/** The earliest time to which the shard has gone back since its last sweep. */
function earlier({ at, wentBack }: ShardMark): number {
  return wentBack === undefined || wentBack.isSwept ? at : Math.min(at, wentBack.to)
}

export function markToText(mark: ShardMark): string {
  return JSON.stringify(mark)
}

/** The mark of a text that `markToText` gave; the one before the first for any other. */
export function markFromText(text: string): ShardMark {
  const value = parseObject(text) ?? {}
  const back = toObject(value['wentBack'])
  return {
    mark: countIn(value, 'mark'),
    at: countIn(value, 'at'),
    ...(back && {
      wentBack: {
        to: countIn(back, 'to'),
        from: countIn(back, 'from'),
        foundAt: countIn(back, 'foundAt'),
        isSwept: back['isSwept'] === true,
      },
    }),
  }
}

/** Says which commits of a shard are lost. */
export function wentBackText({ to, from }: Pick<WentBack, 'to' | 'from'>): string {
  const timeText = (time: number): string =>
    time === 0 ? 'an unknown time' : new Date(time).toISOString().replace(/\.\d+Z$/, 'Z')
  return `has gone back in time, as after a restore or a failover: its commits between ${timeText(to)} and ${timeText(from)} are lost, to about a minute`
}
