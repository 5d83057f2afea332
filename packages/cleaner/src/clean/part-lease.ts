import type { CallOptions } from '@looseleaf/core'
import { elapsedBy } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { shardAt } from '@looseleaf/protocol/internal'
import type { IndexTarget } from '../pass/index-target.ts'
import { createKeptRemovals, type KeptRemovals } from '../repair/kept-removals.ts'
import type { Pace } from './pace.ts'
import { freshPart, partFromText, partToText, type Part } from './part.ts'

/** The lease on a part, the work on one index on one shard. */
export interface PartLease {
  readonly target: IndexTarget
  readonly part: Part
  /** False after another worker took over the part. This worker must then neither work on the part nor save it. */
  readonly isHeld: boolean
}

/** Parts of one shard that one worker has leased together. */
export interface LeasedParts {
  readonly leases: readonly PartLease[]
  readonly removals: KeptRemovals
  /** If a save is due, deletes the dangling rows found so far, saves the parts, and renews the leases. */
  checkpoint(options: CallOptions): Promise<void>
  /** Renews the leases if they are to be renewed soon, within a piece of work that pauses for calls. Saves no progress. */
  renew(options: CallOptions): Promise<void>
  /** Waits until all dangling rows found may be deleted, and deletes them. */
  settle(options: CallOptions): Promise<void>
  /** Releases the parts. Saves their progress up to the last point at which all dangling rows found were deleted. */
  release(): Promise<void>
}

export interface LeaseOptions {
  readonly owner: string
  readonly leaseMs: number
  readonly checkpointMs: number
  readonly onRemoved: (target: IndexTarget, shard: number, count: number) => void
  /** Returns the pace of the work on a shard, which is saved with its parts. */
  readonly paceOf: (shard: number) => Pace
}

export interface StoredPart {
  readonly part: Part
  readonly isHeld: boolean
}

/** Milliseconds between two renewals of a lease during a wait. A lease may be 0. */
export function renewMs(leaseMs: number): number {
  return Math.max(1, leaseMs / 3)
}

export function partTask(table: string): string {
  return `clean-part/${table}`
}

/** Loads the parts of these indexes on a shard, by table, and whether a worker has them. A part that no worker has begun has no entry. */
export async function loadParts(
  context: EngineContext,
  tables: readonly string[],
  shard: number,
  options?: CallOptions,
): Promise<ReadonlyMap<string, StoredPart>> {
  const states = await shardAt(context, shard).tasks.loadAll(tables.map(partTask), options)
  return new Map(
    tables.flatMap((table) => {
      const state = states.get(partTask(table))
      const part = partFromText(state?.progress ?? '')
      return part === undefined ? [] : [[table, { part, isHeld: state?.owner !== undefined }] as const]
    }),
  )
}

/**
 * Claims the parts of some indexes, given with their runs, to resume them. Skips parts that other workers have. A part of an older run
 * starts over.
 */
export async function claimParts(
  context: EngineContext,
  runs: ReadonlyMap<IndexTarget, string>,
  shard: number,
  { owner, leaseMs, checkpointMs, onRemoved, paceOf }: LeaseOptions,
  options: CallOptions,
): Promise<LeasedParts> {
  const { tasks } = shardAt(context, shard)
  const taskOf = ({ entry }: IndexTarget): string => partTask(entry.table)
  const claimed = await tasks.claimAll([...runs.keys()].map(taskOf), owner, leaseMs, options)
  const elapsed = elapsedBy(context.time)
  let savedAt = elapsed()
  let renewedAt = elapsed()

  const leases = [...runs].flatMap(([target, run]) => {
    const state = claimed.get(taskOf(target))
    if (state === undefined) return []
    const found = partFromText(state.progress)
    const part = found?.run === run ? found : freshPart(run)
    return [{ target, part, isHeld: true, saved: partToText(part) }]
  })

  const removals = createKeptRemovals(context, (target, count) => {
    leases.find((lease) => lease.target === target)!.part.tally.removed += count
    onRemoved(target, shard, count)
  })
  const held = (): typeof leases => leases.filter(({ isHeld }) => isHeld)
  const progressOf = (saving: typeof leases): Map<string, string> =>
    new Map(saving.map(({ target, saved }) => [taskOf(target), saved]))

  async function save(call: CallOptions): Promise<void> {
    renewedAt = elapsed()
    const saving = held()
    const kept = await tasks.saveAll(progressOf(saving), owner, leaseMs, call)
    for (const lease of saving) lease.isHeld = kept.has(taskOf(lease.target))
  }

  /** Takes the snapshot of the parts that later saves write. */
  function takeSnapshot(): void {
    const pace = paceOf(shard)
    for (const lease of leases) {
      lease.part.pace = pace
      lease.saved = partToText(lease.part)
    }
  }

  async function settle(call: CallOptions): Promise<void> {
    await removals.settle(call.signal, {
      everyMs: renewMs(leaseMs),
      onWait: () => save(call),
    })
  }

  return {
    leases,
    removals,
    settle,
    async renew(call) {
      if (elapsed() - renewedAt >= leaseMs / 3) await save(call)
    },
    async checkpoint(call) {
      // Before a save the kept rows are waited for, so with kept rows saves are less frequent.
      const everyMs = removals.isEmpty ? checkpointMs : Math.max(checkpointMs, leaseMs / 3)
      if (!removals.isFull && elapsed() - savedAt < everyMs) return
      await settle(call)
      savedAt = elapsed()
      takeSnapshot()
      await save(call)
    },
    async release() {
      if (removals.isEmpty) takeSnapshot()
      const releasing = held()
      for (const lease of releasing) lease.isHeld = false
      await tasks.saveAll(progressOf(releasing), owner, 0)
    },
  }
}
