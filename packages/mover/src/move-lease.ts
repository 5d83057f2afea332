import { LooseleafError, type CallOptions } from '@looseleaf/core'
import { elapsedBy, rangesInclude, type LayoutMove, type TaskTable } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { processName, shardAt } from '@looseleaf/protocol/internal'
import { freshRecord, recordFromText, type MoveRecord } from './move-record.ts'

/** The lease of a move. It saves work, and is no fence: the attempt at the move is. */
export interface MoveLease {
  readonly record: MoveRecord
  /** Saves the record and renews the lease. Throws `LEASE_LOST` once another process has the move. */
  save(): Promise<void>
  /** `save`, if the last one is old enough. */
  saveDue(): Promise<void>
  /** Waits, and renews the lease meanwhile. */
  sleep(milliseconds: number): Promise<void>
  /**
   * Saves the record and ends the lease. Resolves with false if another process has had the move since. Never rejects: a lease that cannot be
   * ended expires.
   */
  release(): Promise<boolean>
}

export interface LeaseOptions extends CallOptions {
  /** Unique name of the claimant. A claim without an answer is made again under its name; a lease that has begun needs another one. */
  readonly owner: string
  readonly leaseMs: number
  readonly checkpointMs: number
}

export function moveTask(id: number): string {
  return `move/${id}`
}

/** Tells whether a mover has lost its lease to another one. */
export function isLeaseLost(error: unknown): boolean {
  return error instanceof LooseleafError && error.cause === LEASE_LOST
}

/** Milliseconds between two renewals during a wait, at least. */
const RENEW_MS = 1_000
/**
 * Least milliseconds of a lease, so that a wait renews it three times. Two movers whose leases end during their waits would take a move from
 * each other, and neither would end it.
 */
export const LEAST_LEASE_MS: number = 3 * RENEW_MS

const LEASE_LOST = Symbol('lease lost')

/** Claims the move on its target. Resolves with undefined while another process has it. */
export async function claimMove(
  context: EngineContext,
  move: LayoutMove,
  { owner, leaseMs, checkpointMs, signal }: LeaseOptions,
): Promise<MoveLease | undefined> {
  const { id } = move
  const tasks: TaskTable = shardAt(context, move.to).tasks
  const task = moveTask(id)
  const elapsed = elapsedBy(context.time)
  let savedAt = elapsed()
  const state = await tasks.claim(task, owner, leaseMs, { signal })
  if (state === undefined) return undefined
  const saved = recordFromText(state.progress)
  // Another move may have had the number before a failover. By its place this one would copy nothing before it.
  const record =
    saved?.from === move.from && rangesInclude(saved.buckets, move.buckets) ? saved : freshRecord(move)
  record.worker = processName
  record.since = context.time.now()
  record.waitsFor = ''

  async function save(): Promise<void> {
    savedAt = elapsed()
    if (await tasks.save(task, owner, JSON.stringify(record), leaseMs, { signal })) return
    throw new LooseleafError('CONFLICT', `Move ${id}: another process has taken it over.`, {
      cause: LEASE_LOST,
    })
  }

  return {
    record,
    save,
    async saveDue() {
      if (elapsed() - savedAt >= checkpointMs) await save()
    },
    async sleep(milliseconds) {
      const until = elapsed() + milliseconds
      for (let rest = milliseconds; rest > 0; rest = until - elapsed()) {
        await context.time.sleep(Math.min(rest, Math.max(RENEW_MS, leaseMs / 3)), signal)
        await save()
      }
    },
    release: () => tasks.save(task, owner, JSON.stringify(record), 0).catch(() => true),
  }
}
