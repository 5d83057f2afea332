import type { CallOptions } from '@looseleaf/core'
import { bucketsIn, optionKinds, type LayoutMove, type OptionKinds } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import {
  bucketsOfMove,
  consumersBehind,
  loadOwn,
  shardAt,
  waitsFromText,
  waitsTask,
  type NotedWaits,
} from '@looseleaf/protocol/internal'
import { commandsOf, type MoveCommands } from './move-commands.ts'
import { finishedMoves } from './finished-moves.ts'
import { moveTask } from './move-lease.ts'
import type { MoverStore } from './move-options.ts'
import {
  freshRecord,
  isLastStep,
  recordFromText,
  type MoveCounts,
  type MoveRecord,
  type MoveStep,
  type Verification,
} from './move-record.ts'
import { openMoves } from './open-moves.ts'
import { amountOf } from './progress.ts'
import { sealTimesOf, type SealTimes } from './seal-times.ts'

/** A move as its shards tell. */
export interface MoveReport {
  readonly id: number
  /** Numbers of the shards. */
  readonly from: number
  readonly to: number
  /** Ranges such as `77-96`. */
  readonly buckets: string
  readonly state: MoveStep
  /** The process that works on the move; undefined if none does. */
  readonly holder: { readonly worker: string; readonly since: Date } | undefined
  /** Next step, for people; undefined once the move is over. */
  readonly next: string | undefined
  /** Reason why the move waits or has stopped, for people; undefined if it does not. */
  readonly heldUpBy: string | undefined
  /** Number of its buckets, and of those that the source has given up. */
  readonly bucketCount: number
  readonly handedOver: number
  readonly counts: Readonly<MoveCounts>
  /** Entities and rows to be read for copies and comparisons, about; never less than `counts.read`. */
  readonly total: number
  /** Entities and rows per second, at the last save. */
  readonly rate: number
  /** Estimated milliseconds until the copies are complete and compared. */
  readonly timeLeftMs: number | undefined
  readonly seals: SealTimes
  /** Writes that waited for buckets of the move, in all processes; undefined if none did. Processes note them some seconds late. */
  readonly waits: NotedWaits | undefined
  /** The comparison of all copies with the source; undefined until it is complete. */
  readonly verified: Verification | undefined
  /** Time when the move was done or undone; undefined while it is not over. */
  readonly endedAt: Date | undefined
  /** Method of `store.shards` that brings the move to its end: `repair`. Undefined once it is over. */
  readonly forward: 'repair' | undefined
  /**
   * Method of `store.shards` that takes the move back: `undo` until the source has given the first buckets up, and `move` (the buckets back,
   * once this move is over) after that. Undefined for a move that was undone.
   */
  readonly back: 'undo' | 'move' | undefined
  /** The commands that do the same. */
  readonly commands: MoveCommands
}

const NEXT: Readonly<Record<MoveStep, string | undefined>> = {
  copying: 'copy the rest, then compare the copies with the source',
  checking: 'seal and hand over the first group of buckets',
  sealing: 'hand over the next group of buckets, then read index rows on the target',
  switching: 'wait for queries in flight, then end the announcement',
  emptying: 'delete what the source gave up',
  done: undefined,
  undoing: 'wait for queries in flight, then delete the copies',
  undone: undefined,
}

export interface ListMovesOptions extends CallOptions {
  /** Adds the last ten moves that are over. Default: false. */
  readonly finished?: boolean | undefined
}

export const listMovesOptionKinds: OptionKinds<ListMovesOptions> = {
  signal: optionKinds.signal,
  finished: optionKinds.flag,
}

/** Returns the moves of the store that are not over, or with `finished` the last ones that are over too, in the order of their announcement. */
export async function movesOf(
  { context }: MoverStore,
  { finished = false, signal }: ListMovesOptions = {},
): Promise<readonly MoveReport[]> {
  const reports: MoveReport[] = []
  // Reads the moves that are over first: a move that ends in between is then in both lists. In the other order it would be in none.
  const ended = finished ? await finishedMoves(context, { signal }) : []
  for (const { move } of await openMoves(context, { signal }))
    reports.push(await readMove(context, move, { signal }))
  const open = new Set(reports.map(({ id }) => id))
  for (const move of ended) if (!open.has(move.id)) reports.push(await readMove(context, move, { signal }))
  return reports.toSorted((a, b) => a.id - b.id)
}

/** Reads the report of a move, also of one that is over. */
export async function readMove(
  context: EngineContext,
  move: LayoutMove,
  options: CallOptions,
): Promise<MoveReport> {
  const { id, from, to, buckets, phase } = move
  const { tasks } = shardAt(context, to)
  const states = await tasks.loadAll([moveTask(id), waitsTask(id)], options)
  const task = states.get(moveTask(id))
  const record = recordFromText(task?.progress ?? '') ?? freshRecord(move)
  // A process that undoes a move without its target cannot note that there.
  if (phase === 'undoing' && !isLastStep(record.step)) record.step = 'undoing'
  const isHeld = task?.owner !== undefined
  const isOver = isLastStep(record.step)
  const handedOver = isOver
    ? bucketsIn(record.step === 'done' ? buckets : '').length
    : bucketsIn(bucketsOfMove((await loadOwn(context, from, options)).serves.away, id)).length
  const waits = isHeld || isOver ? record.waitsFor : await reasonToWait(context, move, record, options)
  const forward = isOver ? undefined : 'repair'
  const back = backOf(record, handedOver)
  return {
    id,
    from,
    to,
    buckets,
    state: record.step,
    holder: isHeld ? { worker: record.worker, since: new Date(record.since) } : undefined,
    next: NEXT[record.step],
    heldUpBy: waits === '' ? undefined : waits,
    bucketCount: bucketsIn(buckets).length,
    handedOver,
    counts: record.counts,
    ...amountOf(record),
    seals: sealTimesOf(record.seals),
    waits: waitsFromText(states.get(waitsTask(id))?.progress ?? ''),
    verified: record.verified && { ...record.verified, at: new Date(record.verified.at) },
    endedAt: isOver ? new Date(record.endedAt) : undefined,
    forward,
    back,
    commands: commandsOf(move, forward, back),
  }
}

function backOf({ step }: MoveRecord, handedOver: number): MoveReport['back'] {
  if (step === 'undoing' || step === 'undone') return undefined
  return handedOver === 0 ? 'undo' : 'move'
}

/** Returns the reason why a move that no process works on does not go on. Consumers are looked at anew. */
async function reasonToWait(
  context: EngineContext,
  move: LayoutMove,
  { step, waitsFor }: MoveRecord,
  { signal }: CallOptions,
): Promise<string> {
  const awaited = step === 'emptying' ? await consumersBehind({ context, move, signal }) : []
  if (awaited.length > 0) return awaitedText(move, awaited)
  return waitsFor || 'no process works on it'
}

/** Describes the wait for consumers, with the way out. */
export function awaitedText({ from }: Pick<LayoutMove, 'from'>, consumers: readonly string[]): string {
  return `consumers that have changes to handle on shard ${from}: ${consumers.join(', ')}. Start their processes, or drop those that are not needed any more: looseleaf consumer drop NAME`
}
