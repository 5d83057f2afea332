import { isLooseleafError, LooseleafError, parseId } from '@looseleaf/core'
import { unionOfRanges, withoutRanges, type AwayBuckets } from '@looseleaf/core/internal'
import { readProgress, type ConsumerProgress } from '../consumers/consumer-progress.ts'
import { joinedRegistry, readRegistries } from '../consumers/registrations.ts'
import { shardAt } from '../shards.ts'
import { completeAnnouncement } from './announce.ts'
import { requireBegun } from './begin-target.ts'
import { discardAt, discardRowsAt, noDiscardProgress } from './discard.ts'
import { entitiesIn, sourceOf, type MoveWork } from './move-work.ts'
import {
  announcedIn,
  bucketsOfMove,
  changeOwn,
  durableOwn,
  loadOwn,
  ofMove,
  ofOthers,
  type OwnBuckets,
} from './own-buckets.ts'

/** Rows that were deleted on a shard that has no use for them. */
export interface Emptied {
  readonly entities: number
  readonly rows: number
}

/** Rows that were deleted at a source. */
export interface EmptiedSource extends Emptied {
  /** Names of the consumers that have changes to handle there first. Its rows are deleted once there are none. */
  readonly awaits: readonly string[]
}

/** A durable state of a shard's buckets, and the consumers to wait for before its rows may be deleted. */
interface DeletesLook {
  readonly own: OwnBuckets
  readonly awaits: readonly string[]
}

/**
 * Deletes the entities, pending rows, index rows and claims of a move at its source, after `endMove`. The source's record says so first.
 * Leaves buckets alone that the source may have again by now. Deletes nothing while consumers have to read the rows, and resolves with their
 * names. Throws `CONFLICT` if the target has lost the buckets. Repeatable.
 *
 * Every delete carries the epoch of the source by which the buckets were somewhere else:
 * 1. A mover is suspended before it sends a delete.
 * 2. The buckets come back by a later move.
 * 3. The delete would take a committed entity, or an index row that it needs.
 */
export function emptySource(work: MoveWork): Promise<EmptiedSource> {
  return discardAll(work, work.move.from, () => recordDeletes(work))
}

/**
 * Lets the source's record say that its rows are deleted, unless it has a use for all of them. Resolves with a durable state of its buckets, or
 * with the consumers that have to read the rows first.
 */
async function recordDeletes(work: MoveWork): Promise<DeletesLook> {
  const { context, move, signal } = work
  await requireBegun(work)
  // The record of another mover is relied on only if it is on disk.
  const own = await ownAfterEnd(work, move.from)
  if (foreignBuckets(work, own) === '' || isEmptied(work, own)) return { own, awaits: [] }
  const behind = await consumersBehind(work)
  if (behind.length > 0) return { own, awaits: behind }
  // A follower that begins at this floor or later finds all of the entities on the target, which has begun.
  const floor = await sourceOf(work).entities.raiseFloor({ signal })
  // The raise is a flushed commit, so places that were there before and after it are durable. A consumer whose name is not there yet will
  // raise the floor once more before it begins.
  const stillBehind = await consumersBehind(work, floor)
  if (stillBehind.length > 0) return { own, awaits: stillBehind }
  const recorded = await changeOwn(
    context,
    move.from,
    (source) => (foreignBuckets(work, source) === '' ? undefined : emptied(work, source, floor)),
    { signal },
  )
  return { own: requireEnded(work, move.from, recorded), awaits: [] }
}

/** Resolves with a durable state of a shard's buckets after a move has ended or was undone. A shard that has lost the end by a failover gets it again. */
export async function ownAfterEnd(work: MoveWork, number: number): Promise<OwnBuckets> {
  const { context, move, signal } = work
  const own = await durableOwn(context, number, { signal })
  if (announcedIn(own, move) === undefined) return own
  await completeAnnouncement(work)
  return requireEnded(work, number, await durableOwn(context, number, { signal }))
}

/**
 * Returns the state of a shard's buckets. Throws `STALE_EPOCH` if the shard has lost the end of the move by a failover: by the announcement it has a
 * use for all of the buckets, and would keep its rows for ever.
 */
function requireEnded({ context, move }: MoveWork, number: number, own: OwnBuckets): OwnBuckets {
  if (announcedIn(own, move) === undefined) return own
  const { name } = shardAt(context, number)
  throw new LooseleafError(
    'STALE_EPOCH',
    `Move ${move.id}: ${name} has lost the end of the move. Try again.`,
    {
      shard: name,
    },
  )
}

/**
 * Returns the names of the consumers that have not handled all changes of the move's buckets at the source, or have not passed failing ones
 * on. Leaves out consumers that began at this floor or later: they take the copies at the target.
 */
export async function consumersBehind(
  { context, move, signal }: Pick<MoveWork, 'context' | 'move' | 'signal'>,
  floor: number = Infinity,
): Promise<readonly string[]> {
  const [{ serves }, { registries, failure }] = await Promise.all([
    loadOwn(context, move.from, { signal }),
    readRegistries(context, { signal }),
  ])
  // That shard may be the only one that knows a consumer.
  if (failure !== undefined) throw failure
  const end = Math.max(0, ...ofMove(serves.away, move.id).map((away) => away.end))
  const progress = await readProgress(context, move.from, joinedRegistry(registries), { signal })
  const isIn = entitiesIn(context, bucketsOfMove(serves.away, move.id))
  const isBehind = ({ partitions, failing }: ConsumerProgress): boolean =>
    partitions.some(({ since }) => since < floor) &&
    (partitions.some(({ updated }) => updated < end) || failing.some(({ id }) => isIn(parseId(id))))
  return Array.from(progress)
    .filter(([, consumer]) => isBehind(consumer))
    .map(([name]) => name)
    .toSorted()
}

/**
 * Deletes everything on a shard of the move's buckets for which it has no use, unless `look` resolves with consumers to wait for.
 *
 * Each change of the shard's catalog, such as a new index, ends the deletes under its last epoch. They go on under the new one from where they
 * were. They begin again if the buckets are others, or if a failover has undone the record that the rows are deleted: it has undone the deletes, too.
 */
export async function discardAll(
  work: MoveWork,
  number: number,
  look: () => Promise<DeletesLook>,
): Promise<EmptiedSource> {
  let [progress, of] = [noDiscardProgress(), '']
  for (;;) {
    const { own, awaits } = await look()
    const buckets = foreignBuckets(work, own)
    if (awaits.length > 0 || buckets === '') return { entities: 0, rows: 0, awaits }
    const floors = ofMove(own.serves.away, work.move.id).map(({ emptied: floor }) => floor)
    const found = [buckets, ...floors].join(' ')
    if (found !== of) [progress, of] = [noDiscardProgress(), found]
    const { epoch } = own.catalog
    try {
      await discardAt(work, number, buckets, epoch, progress)
      await discardRowsAt(work, number, buckets, epoch, progress)
      return { entities: progress.entities, rows: progress.removed, awaits }
    } catch (error) {
      if (!isLooseleafError(error, 'STALE_EPOCH')) throw error
    }
  }
}

/**
 * Returns the move's buckets for which a shard has no use: it does not own them, and no announced move brings them. Leaves out buckets of later moves:
 * they come again, or came back and left again, and consumers may still have to read their rows. A record of an earlier move is of one that was
 * undone, and decides nothing. An announced move from this shard has buckets that the layout gives to it.
 */
function foreignBuckets({ move }: MoveWork, { catalog, serves }: OwnBuckets): string {
  const { layout, shardNumber } = catalog
  const kept = (serves.away ?? []).filter(({ emptied: floor }) => floor === undefined)
  const later = [...kept, ...(serves.coming ?? [])].filter(({ move: id }) => id > move.id)
  const announced = (layout?.moves ?? []).filter(({ to }) => to === shardNumber)
  const used = unionOfRanges(
    serves.owns,
    layout?.shards[shardNumber]?.buckets ?? '',
    ...[...later, ...announced].map(({ buckets }) => buckets),
  )
  return withoutRanges(move.buckets, used)
}

/** Tells whether the source's record says that its rows are being deleted. */
function isEmptied({ move }: MoveWork, { serves }: OwnBuckets): boolean {
  return ofMove(serves.away, move.id).every((record) => record.emptied !== undefined)
}

/** Joins the records of the move's groups, which no follower has to tell apart any more. */
function emptied(work: MoveWork, own: OwnBuckets, floor: number): OwnBuckets['serves'] | undefined {
  if (isEmptied(work, own)) return undefined
  const { move } = work
  const { serves } = own
  const records = ofMove(serves.away, move.id)
  const joined: AwayBuckets = {
    move: move.id,
    attempt: Math.max(...records.map(({ attempt }) => attempt)),
    buckets: unionOfRanges(...records.map(({ buckets }) => buckets)),
    to: move.to,
    end: Math.max(...records.map(({ end }) => end)),
    emptied: floor,
  }
  return { ...serves, away: [...(ofOthers(serves.away, move.id) ?? []), joined] }
}
