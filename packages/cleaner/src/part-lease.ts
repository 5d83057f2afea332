import type { CallOptions } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine'
import { shardAt, type IndexTarget } from './index-target.ts'
import { freshPart, partFromText, partToText, type Part } from './part.ts'

/** The right to work on one index on one shard, for a time. */
export interface PartLease {
  readonly target: IndexTarget
  readonly part: Part
  /** False once another worker has taken over: then nothing of this part is to be done or saved any more. */
  readonly isHeld: boolean
  /** Saves the part when this is due, and prolongs the lease. */
  checkpoint(options: CallOptions): Promise<void>
  /** Saves the part and gives it up. */
  release(): Promise<void>
}

export interface LeaseOptions {
  readonly owner: string
  readonly leaseMs: number
  /** Time between two saves, in milliseconds. */
  readonly checkpointMs: number
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
  { owner, leaseMs, checkpointMs }: LeaseOptions,
  options: CallOptions,
): Promise<PartLease | undefined> {
  const { tasks } = shardAt(context, shard)
  const name = partTask(target.entry.table)
  const claimed = await tasks.claim(name, owner, leaseMs, options)
  if (claimed === undefined) return undefined
  const saved = partFromText(claimed.progress)
  const part = saved?.run === run ? saved : freshPart(run)
  let isHeld = true
  let savedAt = context.time.now()
  return {
    target,
    part,
    get isHeld() {
      return isHeld
    },
    async checkpoint(call) {
      const now = context.time.now()
      if (!isHeld || now - savedAt < checkpointMs) return
      savedAt = now
      isHeld = await tasks.save(name, owner, partToText(part), leaseMs, call)
    },
    async release() {
      if (!isHeld) return
      isHeld = false
      await tasks.save(name, owner, partToText(part), 0)
    },
  }
}
