import { LooseleafError, type CallOptions } from '@looseleaf/core'
import {
  backOffMs,
  unionOfRanges,
  withoutRanges,
  type ArrivedBuckets,
  type AwayBuckets,
  type ShardServes,
} from '@looseleaf/core/internal'
import { latestLayout, loadShardCatalogs, type EngineContext } from '@looseleaf/index-engine/internal'
import { timeBelowFloor } from '../floor.ts'
import { shardAt } from '../shards.ts'
import type { CopyTarget } from './attempt.ts'
import type { MoveWork } from './move-work.ts'
import { keptCopy, withoutCopies } from './missing-copies.ts'
import { lostTarget } from './owner-faults.ts'
import {
  arrivedSince,
  durableOwn,
  hasAttempt,
  loadOwn,
  ofMove,
  swapOwn,
  withArrivals,
  withoutBuckets,
  type OwnBuckets,
} from './own-buckets.ts'

/** Changes by which a target does not begin, in a row, after which `beginTarget` rejects. The pauses add up to 3 seconds. */
const MAX_TRIES = 20
const PAUSES = { firstMs: 2, maxMs: 200 }

/** A record of buckets that a shard has given up, with the number of that shard. */
interface Departure extends AwayBuckets {
  readonly from: number
}

/**
 * Lets a shard begin to serve the buckets that other shards have given up to it. Any process may call it, and a writer or reader that finds
 * such a bucket does, so that no caller waits for a mover that has died. Resolves when the shard serves them, and the record of that is durable.
 *
 * The target begins only with the attempt that was handed over, because only its copies are complete, and only if it still has them. The
 * record of the source has to be durable first: 1. The target begins. 2. The source crashes, and has lost the record. Both would accept writes of the bucket.
 *
 * The target is flushed even if nothing is due:
 * 1. The target begins, and the mover gets no answer. The mover sees in the catalog that it has begun.
 * 2. The target crashes, and has lost the change.
 * 3. The mover ends the move, and deletes the entities on the source. No shard serves the bucket.
 *
 * The floor is raised before the change. So every copy has an earlier time of writing than `begin`, and every write a later one.
 */
export async function beginTarget(
  context: EngineContext,
  number: number,
  options: CallOptions = {},
): Promise<void> {
  const target = await durableOwn(context, number, options)
  const sources = new Set((target.serves.coming ?? []).map(({ from }) => from))
  for (const from of sources) {
    let due = await dueFrom(context, from, number, target, options)
    for (let tries = 1; due.length > 0; tries++) {
      const begin = 1 + (await timeBelowFloor(shardAt(context, number), options.signal))
      const own = await loadOwn(context, number, options)
      if (await swapBegun(context, number, own, due, begin, options)) break
      if (tries === MAX_TRIES) throw changedTooOften(context, number, due)
      await context.time.sleep(backOffMs(tries, PAUSES), options.signal)
      // Another process has changed the target, or it lacks some of the copies since.
      const now = await durableOwn(context, number, options)
      due = await dueFrom(context, from, number, now, options)
    }
  }
}

function changedTooOften(
  context: EngineContext,
  number: number,
  [first, ...others]: readonly Departure[],
): LooseleafError {
  const { move, from, buckets } = first!
  const all = unionOfRanges(buckets, ...others.map((departure) => departure.buckets))
  const { name } = shardAt(context, number)
  return new LooseleafError(
    'SHARD_BUSY',
    `Move ${move}: ${name} has not begun to serve the buckets ${all}, which shard ${from} gave up: its catalog was changed, or did not answer, ${MAX_TRIES} times in a row. Try again when other processes have ended their changes.`,
    { shard: name },
  )
}

/**
 * Lets a target begin if its catalog is still the given one, it has the copies, and its floor is `begin` at least, by one statement. A
 * target that went back between a look at its copies and the begin would begin without them.
 */
async function swapBegun(
  context: EngineContext,
  number: number,
  target: OwnBuckets,
  departures: readonly Departure[],
  begin: number,
  options: CallOptions,
): Promise<OwnBuckets | undefined> {
  const serves = begun(target, departures, begin)
  if (serves === undefined) return undefined
  const copies = departures.flatMap(({ last }) => (last === undefined ? [] : [keptCopy(last)]))
  return swapOwn(context, number, target, serves, { ...options, holding: { floor: begin, copies } })
}

/**
 * Lets the target begin with a group that this mover has handed over, by one statement. The mover had the answer to the change that gave the
 * group up, so that is durable, and the floor was raised above the copies before. Resolves with the target of further copies, which have
 * the new epoch. Resolves with undefined if nothing is known to have changed: call `beginTarget` then.
 */
export async function beginGroup(
  { context, move, signal }: MoveWork,
  away: AwayBuckets,
  target: OwnBuckets,
  { updated }: CopyTarget,
): Promise<CopyTarget | undefined> {
  const departures = [{ ...away, from: move.from }]
  const changed = await swapBegun(context, move.to, target, departures, updated + 1, { signal })
  return changed && { epoch: changed.catalog.epoch, updated }
}

/** Returns the durable departures from a shard that the target has copied, and has not begun to serve. */
async function dueFrom(
  context: EngineContext,
  from: number,
  number: number,
  target: OwnBuckets,
  options: CallOptions,
): Promise<readonly Departure[]> {
  const isDue = (away: AwayBuckets): boolean => away.to === number && hasAttempt(target.serves.coming, away)
  const visible = await loadOwn(context, from, options)
  if (!visible.serves.away?.some(isDue)) return []
  // A record that is there before and after a flush is durable.
  const { serves } = await durableOwn(context, from, options, visible)
  const due = (serves.away ?? []).filter(isDue)
  const lacking = new Set(await withoutCopies(context, number, due, options))
  return due.filter((away) => !lacking.has(away)).map((away) => ({ ...away, from }))
}

/**
 * Throws `CONFLICT` if the target has not begun with buckets that the source has given up in this move: it went back to an earlier state, and
 * the source may have the only copies.
 */
export async function requireBegun(work: MoveWork): Promise<void> {
  const [lost] = await lostRecords(work)
  if (lost !== undefined) throw lostBuckets(work, lost)
}

/** Buckets that a source has given up, and its target has lost. */
export interface LostBuckets {
  /** The last attempt by which one of them was given up; 0 if there are none. */
  readonly attempt: number
  /** Ranges such as `77-96`; empty if there are none. */
  readonly buckets: string
}

/**
 * Returns the buckets that the source has given up in this move, and with which the target has not begun. Call it after `beginTarget`. The source
 * has their entities as they were given up. Throws `CONFLICT` if it was told to delete them.
 */
export async function lostByTarget(work: MoveWork): Promise<LostBuckets> {
  const records = await lostRecords(work)
  const emptied = records.find((record) => record.emptied !== undefined)
  if (emptied !== undefined) throw lostBuckets(work, emptied)
  return {
    attempt: Math.max(0, ...records.map(({ attempt }) => attempt)),
    buckets: unionOfRanges(...records.map(({ buckets }) => buckets)),
  }
}

function lostBuckets({ move }: MoveWork, lost: AwayBuckets): LooseleafError {
  return new LooseleafError(
    'CONFLICT',
    lostTarget({ ...lost, from: move.from, isRepairable: false })(lost.buckets),
  )
}

/** Returns the records of buckets that the source has given up, without those with which the target has begun. */
async function lostRecords({ context, move, signal }: MoveWork): Promise<readonly AwayBuckets[]> {
  const [source, target] = await Promise.all([
    loadOwn(context, move.from, { signal }),
    loadOwn(context, move.to, { signal }),
  ])
  const lacking = withoutBuckets(ofMove(source.serves.away, move.id), arrivedSince(target.serves, move.id))
  if (lacking === undefined) return []
  // Nor has a target that was made anew a record of buckets that have gone on to another shard. If they came back from one that is removed by now,
  // only the layout has a record of that.
  const catalogs = await loadShardCatalogs(context.driver, { signal })
  const arrived = catalogs.map((catalog) => arrivedSince(catalog?.serves, move.id))
  const left = latestLayout(catalogs)?.shards.flatMap(({ away = [] }) => away) ?? []
  const since = left.filter((each) => each.move > move.id).map(({ buckets }) => buckets)
  return withoutBuckets(lacking, unionOfRanges(...arrived, ...since)) ?? []
}

function begun(
  { serves }: OwnBuckets,
  departures: readonly Departure[],
  begin: number,
): ShardServes | undefined {
  // Another process may have begun some of them meanwhile.
  const due = departures.filter((departure) => hasAttempt(serves.coming, departure))
  if (due.length === 0) return undefined
  const buckets = unionOfRanges(...due.map((departure) => departure.buckets))
  const arrived = due.map(({ move, attempt, buckets: some, from, end }): ArrivedBuckets => {
    const [coming] = ofMove(serves.coming, move)
    return { move, attempt, buckets: some, from, end, begin, afterAddedId: coming?.afterAddedId ?? 0 }
  })
  const moves = new Set(due.map(({ move }) => move))
  const coming = (serves.coming ?? []).flatMap((record) => {
    if (!moves.has(record.move)) return [record]
    const kept = withoutRanges(record.buckets, buckets)
    return kept === '' ? [] : [{ ...record, buckets: kept }]
  })
  return { ...withArrivals(serves, arrived), coming: coming.length === 0 ? undefined : coming }
}
