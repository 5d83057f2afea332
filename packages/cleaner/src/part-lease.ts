import type { CallOptions } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine'
import { shardAt, type IndexTarget } from './index-target.ts'
import { createKeptRemovals, type KeptRemovals } from './kept-removals.ts'
import { freshPart, partFromText, partToText, type Part } from './part.ts'

/** The right to work on one index on one shard, for a time. */
export interface PartLease {
  readonly target: IndexTarget
  readonly part: Part
  /** False once another worker has taken over: then nothing of this part is to be done or saved any more. */
  readonly isHeld: boolean
  /** Dangling rows that the work has found. */
  readonly removals: KeptRemovals
  /** Saves the part when this is due, with the rows deleted that it has found by then, and prolongs the lease. */
  checkpoint(options: CallOptions): Promise<void>
  /** Waits until the rows that were found can be deleted, and deletes them. */
  settle(options: CallOptions): Promise<void>
  /** Saves the part, as of the last time that nothing was left to be deleted, and gives it up. */
  release(): Promise<void>
}

export interface LeaseOptions {
  readonly owner: string
  readonly leaseMs: number
  /** Time between two saves, in milliseconds. */
  readonly checkpointMs: number
  /** Told of rows deleted. */
  readonly onRemoved: (count: number) => void
}

export function partTask(table: string): string {
  return `clean-part/${table}`
}

/** Where a part stands, whoever has it; undefined where nobody has begun. */
export async function loadPart(
  context: EngineContext,
  table: string,
  shard: number,
  options?: CallOptions,
): Promise<Part | undefined> {
  const state = await shardAt(context, shard).tasks.load(partTask(table), options)
  return state && partFromText(state.progress)
}

/** Takes a part of a run, where it was left; undefined while another worker has it. A part of an older run begins anew. */
export async function claimPart(
  context: EngineContext,
  target: IndexTarget,
  shard: number,
  run: string,
  { owner, leaseMs, checkpointMs, onRemoved }: LeaseOptions,
  options: CallOptions,
): Promise<PartLease | undefined> {
  const { tasks } = shardAt(context, shard)
  const name = partTask(target.entry.table)
  const claimed = await tasks.claim(name, owner, leaseMs, options)
  if (claimed === undefined) return undefined
  const found = partFromText(claimed.progress)
  const part = found?.run === run ? found : freshPart(run)
  const removals = createKeptRemovals(context)
  let isHeld = true
  let savedAt = context.time.now()
  let saved = partToText(part)

  const save = (text: string, call: CallOptions): Promise<boolean> =>
    tasks.save(name, owner, text, leaseMs, call)

  async function settle(call: CallOptions): Promise<void> {
    const count = await removals.settle(call.signal, {
      everyMs: leaseMs / 3,
      async onWait() {
        isHeld &&= await save(saved, call)
      },
    })
    part.tally.removed += count
    onRemoved(count)
  }

  return {
    target,
    part,
    removals,
    get isHeld() {
      return isHeld
    },
    async checkpoint(call) {
      // To wait for rows at every checkpoint would be to wait nearly all the time.
      const everyMs = removals.isEmpty ? checkpointMs : Math.max(checkpointMs, leaseMs / 3)
      const isDue = removals.isFull || context.time.now() - savedAt >= everyMs
      if (!isHeld || !isDue) return
      await settle(call)
      savedAt = context.time.now()
      saved = partToText(part)
      isHeld &&= await save(saved, call)
    },
    settle,
    async release() {
      if (!isHeld) return
      isHeld = false
      await tasks.save(name, owner, removals.isEmpty ? partToText(part) : saved, 0)
    },
  }
}
