import { elapsedBy, isOutage, type CallOptions } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine'
import {
  lookAtMarks,
  MARK_TASK,
  markFromText,
  markToText,
  NOTE_TASK,
  shardAt,
  wentBackOf,
  wentBackText,
  type MarkLook,
  type ShardMark,
  type WentBack,
} from '@looseleaf/protocol'
import { isSweptSince } from './swept-since.ts'

/** Raises the marks of all shards, and finds those that have gone back. */
export interface MarkKeeper {
  /** Compares each mark with its note and with what this process has seen, and then raises it; once a minute at the most. */
  look(options: CallOptions): Promise<void>
  /** When a shard was found last that has gone back, and whose indexes were not swept since: milliseconds since 1970; 0 when there is none. */
  readonly unsweptSince: number
}

/** Between two marks of a shard, in milliseconds. */
const RAISE_MS = 60_000
/** A process that dies between taking a mark and raising it holds the others up for as long. */
const LEASE_MS = 5_000

export function createMarkKeeper(context: EngineContext, owner: string): MarkKeeper {
  const elapsed = elapsedBy(context.time)
  /** The greatest marks that this process knows of: all there is where a store has one shard. */
  const seen = new Map<number, ShardMark>()
  let lookedAt = -Infinity
  let unsweptSince = 0

  /** The mark that has to be there at the least. */
  function latestOf({ shard, noted }: MarkLook): ShardMark {
    const known = seen.get(shard)
    return known !== undefined && known.mark > noted.mark ? known : noted
  }

  async function raise(
    look: MarkLook,
    isSwept: boolean,
    options: CallOptions,
  ): Promise<WentBack | undefined> {
    const { shard } = look
    const { name, tasks } = shardAt(context, shard)
    const claimed = await tasks.claim(MARK_TASK, owner, LEASE_MS, options)
    if (claimed === undefined) return look.own.wentBack
    // Read after the note, so a mark that another process has raised meanwhile is no step back.
    const own = markFromText(claimed.progress)
    const noted = latestOf(look)
    const now = context.time.now()
    const found = wentBackOf({ shard, own, noted }, now)
    // Another process may have found a later one meanwhile, which no sweep has followed.
    const isSame = found === own.wentBack && found?.foundAt === look.own.wentBack?.foundAt
    const wentBack = found && { ...found, isSwept: found.isSwept || (isSwept && isSame) }
    const next: ShardMark = { mark: Math.max(own.mark, noted.mark) + 1, at: now, wentBack }
    if (!(await tasks.save(MARK_TASK, owner, markToText(next), 0, options))) return wentBack
    seen.set(shard, next)
    if (found !== undefined && found !== own.wentBack) tell(name, found)
    await note(shard, next, options)
    return wentBack
  }

  /** The mark is committed by now; in the other order a crash between the two would look like a step back. */
  async function note(shard: number, { mark, at }: ShardMark, options: CallOptions): Promise<void> {
    const { shards } = context.driver
    if (shards.length === 1) return
    const { tasks } = shardAt(context, (shard + 1) % shards.length)
    const claimed = await tasks.claim(NOTE_TASK, owner, LEASE_MS, options)
    if (claimed === undefined) return
    const there = markFromText(claimed.progress)
    const text = there.mark > mark ? claimed.progress : markToText({ mark, at })
    await tasks.save(NOTE_TASK, owner, text, 0, options)
  }

  async function keep(look: MarkLook, options: CallOptions): Promise<WentBack | undefined> {
    const { own, noted } = look
    const isBack = own.mark < latestOf(look).mark
    const isDue = Math.abs(context.time.now() - own.at) >= RAISE_MS || noted.mark < own.mark
    const open = own.wentBack?.isSwept === false ? own.wentBack : undefined
    const isSwept = open !== undefined && !isBack && (await isSweptSince(context, open.foundAt, options))
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
      const looks = await lookAtMarks(context.driver.shards, options)
      const found = await Promise.all(
        looks.map((look) =>
          keep(look, options).catch((error: unknown) => {
            // A shard that does not answer is told by all other work on it, and is looked at again.
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

function tell(name: string, found: WentBack): void {
  process.emitWarning(
    `Shard ${name} ${wentBackText(found)}. All indexes are swept now; queries may lack entities until then.`,
    'LooseleafWarning',
  )
}
