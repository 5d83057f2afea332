import type { CallOptions } from '@looseleaf/core'
import { elapsedBy, isOutage } from '@looseleaf/core/internal'
import { presentEntries, presentNumbers, type EngineContext } from '@looseleaf/index-engine/internal'
import {
  editTask,
  lookAtMarks,
  MARK_TASK,
  markFromText,
  markToText,
  noteTask,
  shardAt,
  rewindOf,
  rewindText,
  type MarkLook,
  type ShardMark,
  type Rewind,
} from '@looseleaf/protocol/internal'
import { isSweptSince } from './swept-since.ts'

/** Raises the marks of all shards, and detects shards that went back. */
export interface MarkKeeper {
  /** Compares each mark with its note and with the mark that this process saw last, then raises it. At most once a minute. */
  look(options: CallOptions): Promise<void>
  /** Time in milliseconds since 1970 at which a shard was last found to have gone back, if its indexes were not swept since; otherwise 0. */
  readonly unsweptSince: number
}

/** Milliseconds between two marks of a shard. */
const RAISE_MS = 60_000

export function createMarkKeeper(context: EngineContext, owner: string): MarkKeeper {
  const elapsed = elapsedBy(context.time)
  /** Last marks that this process saw. In a store with one shard, there are no notes, so only these count. */
  const seen = new Map<number, ShardMark>()
  let lookedAt = -Infinity
  let unsweptSince = 0

  /** Returns the least mark that the shard must have. */
  function latestOf({ shard, noted }: MarkLook): ShardMark {
    const known = seen.get(shard)
    return known !== undefined && known.mark > noted.mark ? known : noted
  }

  async function raise(look: MarkLook, isSwept: boolean, options: CallOptions): Promise<Rewind | undefined> {
    const { shard } = look
    const { name, tasks } = shardAt(context, shard)
    let next = look.own
    let isNew = false
    // The mark is read after the note: in the other order, a mark that another process raises in between would look like a step back.
    const raiseMark = (text: string): string => {
      const own = markFromText(text)
      const noted = latestOf(look)
      const now = context.time.now()
      const found = rewindOf({ shard, own, noted }, now)
      // Another process may have found a later step back since this look, and no sweep has followed that one.
      const isSame = found === own.wentBack && found?.foundAt === look.own.wentBack?.foundAt
      const wentBack = found && { ...found, isSwept: found.isSwept || (isSwept && isSame) }
      isNew = found !== undefined && found !== own.wentBack
      next = { mark: Math.max(own.mark, noted.mark) + 1, at: now, wentBack }
      return markToText(next)
    }
    if (await editTask(tasks, MARK_TASK, raiseMark, { owner, ...options })) {
      seen.set(shard, next)
      if (isNew && next.wentBack !== undefined)
        context.onWarning(
          `Shard ${name} ${rewindText(next.wentBack)}. A sweep of all indexes begins now; until it ends, queries may lack entities.`,
        )
      await note(shard, next, options)
    }
    return next.wentBack
  }

  /** Notes the mark on the next shard, after the mark was committed: in the other order, a crash in between would look like a step back. */
  async function note(shard: number, { mark, at }: ShardMark, options: CallOptions): Promise<void> {
    const present = presentNumbers(context.driver)
    const next = present[(present.indexOf(shard) + 1) % present.length]
    if (next === undefined || next === shard) return
    const { tasks } = shardAt(context, next)
    const raiseNote = (text: string): string =>
      markFromText(text).mark > mark ? text : markToText({ mark, at })
    await editTask(tasks, noteTask(shard), raiseNote, { owner, ...options })
  }

  async function keep(look: MarkLook, options: CallOptions): Promise<Rewind | undefined> {
    const { own, noted } = look
    const isBack = own.mark < latestOf(look).mark
    const isDue = Math.abs(context.time.now() - own.at) >= RAISE_MS || noted.mark < own.mark
    const unswept = own.wentBack?.isSwept === false ? own.wentBack : undefined
    const isSwept =
      unswept !== undefined && !isBack && (await isSweptSince(context, unswept.foundAt, options))
    if (isBack || isDue || isSwept) return raise(look, isSwept, options)
    seen.set(look.shard, own)
    return own.wentBack
  }

  return {
    get unsweptSince() {
      return unsweptSince
    },
    async look(options) {
      if (elapsed() - lookedAt < RAISE_MS) return
      lookedAt = elapsed()
      const looks = await lookAtMarks(presentEntries(context.driver), options)
      const found = await Promise.all(
        looks.map((look) =>
          keep(look, options).catch((error: unknown) => {
            // Other work on the shard reports the outage, and the next look tries again.
            if (isOutage(error)) return look.own.wentBack
            throw error
          }),
        ),
      )
      unsweptSince = Math.max(
        0,
        ...found.map((wentBack) => (wentBack?.isSwept === false ? wentBack.foundAt : 0)),
      )
    },
  }
}
