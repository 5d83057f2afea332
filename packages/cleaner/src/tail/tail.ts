import { chunks, elapsedBy, idKey, type EntityRow, type TaskTable } from '@looseleaf/core/internal'
import { wholeRows, type EngineContext } from '@looseleaf/index-engine/internal'
import { deleteDelayMs, openedTo, shardAt, watchOwned } from '@looseleaf/protocol/internal'
import type { IndexTarget } from '../pass/index-target.ts'
import type { Pass } from '../pass/pass.ts'
import { createKeptRemovals } from '../repair/kept-removals.ts'
import { reconcile } from '../repair/reconcile.ts'
import type { RepairPass } from '../repair/repair-pass.ts'
import { createLeftToWriters } from './left-to-writers.ts'
import { behindOf, recordToText } from './tail-record.ts'
import { updatedPages, windowFromText, type TailWindow, type WindowOptions } from './tail-window.ts'

export interface TailOptions extends WindowOptions {
  readonly owner: string
  /** Milliseconds until another process may follow the shard after this one died. */
  readonly leaseMs: number
  /** Age in milliseconds of the oldest updates that the first round of a shard reads. */
  readonly lookBackMs: number
}

/** Follows the writes of one shard, and repairs the rows of recently updated entities. */
export interface Tail {
  /** Does a bounded round of work. Returns the number of entities read; undefined if another process follows the shard. */
  round(pass: Pass, targets: readonly IndexTarget[]): Promise<number | undefined>
  /** Saves the progress, and releases the shard for other processes. */
  release(): Promise<void>
  /** True while this process follows the shard. */
  readonly isMine: boolean
  /** Age in milliseconds of the oldest update that the last round had no time for; 0 if it read all. */
  readonly lagMs: number
}

export const TAIL_TASK = 'clean-tail'

/** Largest number of entities to revisit, because a row is too young to be judged. Further ones are left to the sweep. */
const MAX_REVISITS = 10_000
const REVISITS_PER_ROUND = 100
/** Entities whose rows are compared at once. */
const ENTITIES_AT_ONCE = 100

export function createTail(context: EngineContext, shard: number, options: TailOptions): Tail {
  const elapsed = elapsedBy(context.time)
  let window: TailWindow | undefined
  /**
   * `seenUntil` before the last round, and the connections opened up to then. If the server restarted since, that round is read again: it may
   * have seen a replacement that was not durable, and the entity is back in its older state.
   */
  let unproven: { readonly seenUntil: number; readonly opened: number | undefined } | undefined
  let savedAt = 0
  /** Length of the gap at the last save, so that reports can tell whether the tail falls behind. */
  let behindMs = 0
  const revisits = new Map<string, { readonly id: Uint8Array; readonly due: number }>()
  /** The pass of the current round. */
  let counting!: Pass
  /** Shared by all rounds, because rows are kept for longer than a round. Rows that remain when the process ends are left to the sweep. */
  const removals = createKeptRemovals(
    context,
    (target, count) => void (counting.tallyOf(target).removed += count),
  )
  const leftToWriters = createLeftToWriters(context)
  const tasks = (): TaskTable => shardAt(context, shard).tasks

  function toText(held: TailWindow): string {
    // Before the first round there is no record: it would report a round of long ago.
    if (held.lookedAt === 0) return ''
    const text = recordToText(held, behindMs)
    behindMs = behindOf(held)
    return text
  }

  /** Claims or renews the lease, and returns the window. Returns undefined if another process follows the shard. */
  async function hold({ signal }: Pass): Promise<TailWindow | undefined> {
    const now = elapsed()
    if (window === undefined) {
      const claimed = await tasks().claim(TAIL_TASK, options.owner, options.leaseMs, { signal })
      if (claimed === undefined) return undefined
      savedAt = now
      const saved = windowFromText(claimed.progress)
      if (saved !== undefined) return (window = saved)
      const at = shardAt(context, shard)
      const floor = await at.entities.raiseFloor({ signal })
      // The raised floor is a microsecond above the current time, or hours if the clock was ahead earlier.
      const from = Math.min(floor, (await at.now({ signal })) + 1)
      return (window = { seenUntil: from - options.lookBackMs * 1000, lookedAt: 0, gap: undefined })
    }
    if (now - savedAt > options.leaseMs / 3) {
      savedAt = now
      const isHeld = await tasks().save(TAIL_TASK, options.owner, toText(window), options.leaseMs, { signal })
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
      // The entries are in the order of `due`.
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
      return window?.gap === undefined ? 0 : Math.round((window.seenUntil - window.gap.since) / 1000)
    },
    async round(roundPass, targets) {
      counting = roundPass
      const pass: RepairPass = { ...roundPass, removals, leaves: leftToWriters.leaves }
      // If too many rows are kept, wait until they are deleted.
      const { signal } = pass
      await (removals.isFull ? removals.settle(signal) : removals.sendDue(signal))
      const held = await hold(pass)
      if (held === undefined) return undefined
      let looked = 0
      const opened = openedTo(shardAt(context, shard))
      if (unproven !== undefined && unproven.opened !== opened)
        held.seenUntil = Math.min(held.seenUntil, unproven.seenUntil)
      const { seenUntil } = held
      const watch = await watchOwned(context, shard, { signal })
      for await (const rows of updatedPages(pass, shard, held, options)) {
        for await (const batch of wholeRows(shardAt(context, shard), context, rows, {
          signal: pass.signal,
        })) {
          const owned = new Set(await watch.owned(batch))
          for (const chunk of chunks(batch, ENTITIES_AT_ONCE))
            await workOn(
              pass,
              targets,
              chunk.map(({ id }) => id),
              // A copy or a leftover of a move may be old, so the entity is read at its owner.
              chunk.every((row) => owned.has(row)) ? chunk : undefined,
            )
        }
        looked += rows.length
      }
      // By raising the floor, this round has made a flushed commit, which proves the round before it.
      if (openedTo(shardAt(context, shard)) === opened) unproven = { seenUntil, opened }
      for (const chunk of chunks(await leftToWriters.overdue(targets, signal), ENTITIES_AT_ONCE))
        await workOn(pass, targets, chunk)
      leftToWriters.done()
      return looked + (await revisit(pass, targets))
    },
    async release() {
      if (window === undefined) return
      const text = toText(window)
      window = undefined
      await tasks().save(TAIL_TASK, options.owner, text, 0)
    },
  }
}
