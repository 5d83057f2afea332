import { elapsedBy, idKey, type EntityRow, type TaskTable } from '@looseleaf/core'
import { wholeRows, type EngineContext } from '@looseleaf/index-engine'
import { deleteDelayMs, openedTo, shardAt } from '@looseleaf/protocol'
import type { IndexTarget } from '../pass/index-target.ts'
import type { Pass } from '../pass/pass.ts'
import { createKeptRemovals } from '../repair/kept-removals.ts'
import { reconcile } from '../repair/reconcile.ts'
import { countRemoved, type RepairPass } from '../repair/repair-pass.ts'
import { chunks } from '../tools/chunks.ts'
import { createLeftToWriters } from './left-to-writers.ts'
import { behindOf, recordToText } from './tail-record.ts'
import { updatedPages, windowFromText, type TailWindow, type WindowOptions } from './tail-window.ts'

export interface TailOptions extends WindowOptions {
  readonly owner: string
  /** How long the shard stays with a process that shows no sign of life, in milliseconds. */
  readonly leaseMs: number
  /** How far back a tail looks that begins for the first time, in milliseconds. */
  readonly lookBackMs: number
}

/** Follows the writes of one shard: puts the rows of recently updated entities right, in both directions. */
export interface Tail {
  /** One round of bounded work; answers how many entities it has looked at, undefined when another process does it. */
  round(pass: Pass, targets: readonly IndexTarget[]): Promise<number | undefined>
  /** Saves how far it came and lets others take over. */
  release(): Promise<void>
  /** True while this process follows the shard. */
  readonly isMine: boolean
  /** How old the oldest update is that was not looked at in the last round, in milliseconds; 0 when none was left. */
  readonly lagMs: number
}

export function tailTask(): string {
  return 'clean-tail'
}

/** Entities with a row too young to be judged that are come back to; what is beyond is left to the sweep. */
const MAX_REVISITS = 10_000
const REVISITS_PER_ROUND = 100
/** Entities whose rows are in hand at once. */
const ENTITIES_AT_ONCE = 100

export function createTail(context: EngineContext, shard: number, options: TailOptions): Tail {
  const elapsed = elapsedBy(context.time)
  let window: TailWindow | undefined
  /**
   * The window's place before the last round, and the connections opened by then. An entity whose replacement was visible to that round is
   * back in the state before it, if the server has died since without that replacement on disk.
   */
  let unproven: { readonly seenUntil: number; readonly opened: number | undefined } | undefined
  let savedAt = 0
  /** When it was saved last, for others to see whether it falls behind. */
  let behindMs = 0
  const revisits = new Map<string, { readonly id: Uint8Array; readonly due: number }>()
  /** Over all rounds: most rows are kept for longer than one. What is left when the process ends is for the sweep. */
  const removals = createKeptRemovals(context)
  const left = createLeftToWriters(context)
  const tasks = (): TaskTable => shardAt(context, shard).tasks

  function toText(held: TailWindow): string {
    // Nothing is said of a shard that no round has been over: it would read as a round of long ago.
    if (held.lookedAt === 0) return ''
    const text = recordToText(held, behindMs)
    behindMs = behindOf(held)
    return text
  }

  /** The window of the round to come; undefined while another process has the shard. */
  async function hold({ signal }: Pass): Promise<TailWindow | undefined> {
    const now = elapsed()
    if (window === undefined) {
      const claimed = await tasks().claim(tailTask(), options.owner, options.leaseMs, { signal })
      if (claimed === undefined) return undefined
      savedAt = now
      const saved = windowFromText(claimed.progress)
      if (saved !== undefined) return (window = saved)
      const at = shardAt(context, shard)
      const floor = await at.entities.raiseFloor({ signal })
      // A floor that was just raised is a microsecond above the time, or hours, since the clock was ahead.
      const from = Math.min(floor, (await at.now({ signal })) + 1)
      return (window = { seenUntil: from - options.lookBackMs * 1000, lookedAt: 0, gap: undefined })
    }
    if (now - savedAt > options.leaseMs / 3) {
      savedAt = now
      const isHeld = await tasks().save(tailTask(), options.owner, toText(window), options.leaseMs, {
        signal,
      })
      if (!isHeld) window = undefined
    }
    return window
  }

  async function workOn(
    pass: RepairPass,
    targets: readonly IndexTarget[],
    ids: readonly Uint8Array[],
    read?: readonly EntityRow[],
  ): Promise<void> {
    const { waiting } = await reconcile(pass, targets, ids, read)
    const due = elapsed() + Math.max(pass.graceMs, deleteDelayMs(context))
    for (const { row } of waiting) {
      if (revisits.size < MAX_REVISITS) revisits.set(idKey(row.entityId), { id: row.entityId, due })
    }
  }

  async function revisit(pass: RepairPass, targets: readonly IndexTarget[]): Promise<number> {
    const now = elapsed()
    const due: Uint8Array[] = []
    for (const [key, entity] of revisits) {
      // In the order in which they fall due.
      if (entity.due > now || due.length >= REVISITS_PER_ROUND) break
      revisits.delete(key)
      due.push(entity.id)
    }
    if (due.length > 0) await workOn(pass, targets, due)
    return due.length
  }

  return {
    get isMine() {
      return window !== undefined
    },
    get lagMs() {
      return window?.gap === undefined ? 0 : (window.seenUntil - window.gap.since) / 1000
    },
    async round(ofRound, targets) {
      const pass: RepairPass = { ...ofRound, removals, leaves: left.leaves }
      // Too many to be kept beside what comes: then it waits until they are gone.
      const { signal } = pass
      countRemoved(pass, await (removals.isFull ? removals.settle(signal) : removals.sendDue(signal)))
      const held = await hold(pass)
      if (held === undefined) return undefined
      let looked = 0
      const opened = openedTo(shardAt(context, shard))
      if (unproven !== undefined && unproven.opened !== opened)
        held.seenUntil = Math.min(held.seenUntil, unproven.seenUntil)
      const { seenUntil } = held
      for await (const rows of updatedPages(pass, shard, held, options)) {
        for await (const batch of wholeRows(shardAt(context, shard).entities, context.codec, rows, {
          signal: pass.signal,
        })) {
          for (const some of chunks(batch, ENTITIES_AT_ONCE))
            await workOn(
              pass,
              targets,
              some.map(({ id }) => id),
              some,
            )
        }
        looked += rows.length
      }
      // The floor that this round has raised is a flushed commit behind the round before it.
      if (openedTo(shardAt(context, shard)) === opened) unproven = { seenUntil, opened }
      for (const some of chunks(await left.overdue(targets, signal), ENTITIES_AT_ONCE))
        await workOn(pass, targets, some)
      left.done()
      return looked + (await revisit(pass, targets))
    },
    async release() {
      if (window === undefined) return
      const text = toText(window)
      window = undefined
      await tasks().save(tailTask(), options.owner, text, 0)
    },
  }
}
