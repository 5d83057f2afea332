import { elapsedBy, type CallOptions } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine'
import { shardAt } from '@looseleaf/protocol'
import type { IndexTarget } from '../pass/index-target.ts'
import { createKeptRemovals, type KeptRemovals } from '../repair/kept-removals.ts'
import type { Pace } from './pace.ts'
import { freshPart, partFromText, partToText, type Part } from './part.ts'

/** The right to work on one index on one shard, for a time. */
export interface PartLease {
  readonly target: IndexTarget
  readonly part: Part
  /** False once another worker has taken over: then nothing of this part is to be done or saved any more. */
  readonly isHeld: boolean
}

/** Parts of one shard that one worker works on together. */
export interface LeasedParts {
  readonly leases: readonly PartLease[]
  /** Dangling rows that the work has found. */
  readonly removals: KeptRemovals
  /** Saves the parts when this is due, with the rows deleted that were found by then, and prolongs the leases. */
  checkpoint(options: CallOptions): Promise<void>
  /** Waits until the rows that were found can be deleted, and deletes them. */
  settle(options: CallOptions): Promise<void>
  /** Saves the parts, as of the last time that nothing was left to be deleted, and gives them up. */
  release(): Promise<void>
}

export interface LeaseOptions {
  readonly owner: string
  readonly leaseMs: number
  /** Time between two saves, in milliseconds. */
  readonly checkpointMs: number
  /** Told of rows of an index that were deleted on a shard. */
  readonly onRemoved: (target: IndexTarget, shard: number, count: number) => void
  /** How the work on a shard goes, to be saved with its parts. */
  readonly paceOf: (shard: number) => Pace
}

export function partTask(table: string): string {
  return `clean-part/${table}`
}

/** Where the parts of these indexes stand on a shard, by table, whoever has them; nothing where nobody has begun. */
export async function loadParts(
  context: EngineContext,
  tables: readonly string[],
  shard: number,
  options?: CallOptions,
): Promise<ReadonlyMap<string, Part>> {
  const states = await shardAt(context, shard).tasks.loadAll(tables.map(partTask), options)
  return new Map(
    tables.flatMap((table) => {
      const part = partFromText(states.get(partTask(table))?.progress ?? '')
      return part === undefined ? [] : [[table, part] as const]
    }),
  )
}

/**
 * Takes the parts of some indexes, given with their runs, where they were left; those that other workers have are not
 * among them. A part of an older run begins anew.
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
  const removals = createKeptRemovals(context)
  const elapsed = elapsedBy(context.time)
  let savedAt = elapsed()

  const leases = [...runs].flatMap(([target, run]) => {
    const state = claimed.get(taskOf(target))
    if (state === undefined) return []
    const found = partFromText(state.progress)
    const part = found?.run === run ? found : freshPart(run)
    return [{ target, part, isHeld: true, saved: partToText(part) }]
  })

  const held = (): typeof leases => leases.filter(({ isHeld }) => isHeld)
  const progressOf = (some: typeof leases): Map<string, string> =>
    new Map(some.map(({ target, saved }) => [taskOf(target), saved]))

  async function save(call: CallOptions): Promise<void> {
    const some = held()
    const still = await tasks.saveAll(progressOf(some), owner, leaseMs, call)
    for (const lease of some) lease.isHeld = still.has(taskOf(lease.target))
  }

  /** From now on the parts are saved as they are now. */
  function keep(): void {
    const pace = paceOf(shard)
    for (const lease of leases) {
      lease.part.pace = pace
      lease.saved = partToText(lease.part)
    }
  }

  async function settle(call: CallOptions): Promise<void> {
    const removed = await removals.settle(call.signal, {
      everyMs: leaseMs / 3,
      onWait: () => save(call),
    })
    for (const { target, part } of leases) {
      const count = removed.get(target) ?? 0
      part.tally.removed += count
      if (count > 0) onRemoved(target, shard, count)
    }
  }

  return {
    leases,
    removals,
    settle,
    async checkpoint(call) {
      // To wait for rows at every checkpoint would be to wait nearly all the time.
      const everyMs = removals.isEmpty ? checkpointMs : Math.max(checkpointMs, leaseMs / 3)
      if (!removals.isFull && elapsed() - savedAt < everyMs) return
      await settle(call)
      savedAt = elapsed()
      keep()
      await save(call)
    },
    async release() {
      if (removals.isEmpty) keep()
      const some = held()
      for (const lease of some) lease.isHeld = false
      await tasks.saveAll(progressOf(some), owner, 0)
    },
  }
}
