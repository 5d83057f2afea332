import { LooseleafError } from '@looseleaf/core'
import { bucketsIn, type AwayBuckets, type UpdatedPlace } from '@looseleaf/core/internal'
import { bucketsOf, type EngineContext } from '@looseleaf/index-engine/internal'
import { loadOwn, type OwnBuckets } from '../moves/own-buckets.ts'
import type { FollowedPlace } from '../purged.ts'
import { shardAt } from '../shards.ts'

/**
 * The turn of a changed row in the stream of one shard:
 * - `give`: it is the next change.
 * - `skip`: the row is a copy of a state that the stream of another shard gives, or gives the latest state of.
 * - `hold`: earlier states of the entity are still to come from another shard.
 */
type Turn = 'give' | 'skip' | 'hold'

/** Tells which rows of a shard are changes, while buckets move between the shards of a store. */
export interface MovedRows {
  /**
   * Learns the buckets of the shard. Call it after a page was read, with an epoch of the shard that was read after it. Throws
   * `CHANGES_GONE` if the shard has deleted rows of moved entities that this follower has not read.
   */
  learn(epoch: number, place: FollowedPlace): Promise<void>
  turnOf(row: UpdatedPlace & { readonly id: Uint8Array }): Promise<Turn>
  /** Whether other shards may wait for the place of this one. */
  readonly isSource: boolean
  /** Tells whether the shard has changes of departed buckets after this place, or may have had them. */
  isBehind(place: UpdatedPlace): boolean
}

/**
 * Makes the view of one shard's stream. `placeOn` returns the place that the follower has reached on a shard; undefined for one that it does
 * not follow yet.
 *
 * An entity that moves has rows on two shards. These rules keep an older state from following a newer one, and the last state from being lost:
 * 1. A shard gives the rows that were written there: those from the floor on at which it began (`begin`). Earlier ones are copies, and their
 *    states come from the source. A shard that has given a bucket up still gives its rows, until it deletes them.
 * 2. A row that was written after the arrival is held until the follower has read every change of the bucket on all other shards.
 * 3. A follower that began after the source was told to delete its rows takes the copies instead.
 * 4. A follower whose place at the source is before the last moved row, and that began before the deletion, gets `CHANGES_GONE`.
 */
export function createMovedRows(
  context: EngineContext,
  number: number,
  placeOn: (shard: number) => FollowedPlace | undefined,
  signal: AbortSignal,
): MovedRows {
  const buckets = bucketsOf(context.router)
  let known: ShardView | undefined
  let others = new Map<number, OtherShard>()

  /**
   * Returns what another shard has given up. It was read after the buckets of this shard, so it has every departure before their arrival, and
   * after the follower began there, so a deletion that it lacks is later than that.
   */
  async function otherShard(shard: number): Promise<OtherShard> {
    const since = placeOn(shard)?.since
    const kept = others.get(shard)
    if (kept !== undefined && kept.since === since) return kept
    const { serves } = await loadOwn(context, shard, { signal })
    const away = Map.groupBy(
      (serves.away ?? []).flatMap((record) =>
        bucketsIn(record.buckets).map((bucket) => ({ bucket, record })),
      ),
      ({ bucket }) => bucket,
    )
    const records = new Map(
      Array.from(away, ([bucket, found]) => [bucket, found.map(({ record }) => record)]),
    )
    const other = { since, away: records, readTo: 0 }
    others.set(shard, other)
    return other
  }

  /** Tells whether the follower has read all changes of the bucket on the other shards. */
  async function isPassed(bucket: number): Promise<boolean> {
    for (const shard of context.driver.shards.keys())
      if (shard !== number && !(await isPassedOn(shard, bucket))) return false
    return true
  }

  async function isPassedOn(shard: number, bucket: number): Promise<boolean> {
    const other = await otherShard(shard)
    const away = other.away.get(bucket) ?? []
    const place = placeOn(shard)
    if (place === undefined) return away.length === 0
    const unread = away.filter((record) => record.end > other.readTo && !hasRead(place, record))
    if (unread.length === 0) return true
    // A quiet shard does not move the place. Its moved rows were durable before their buckets left, so an empty page proves that none is left,
    // unless they were deleted: then the stream of that shard throws `CHANGES_GONE`.
    const until = Math.max(...unread.map(({ end }) => end))
    const { entities } = shardAt(context, shard)
    const [row] = await entities.pageOfChanges({ after: place, until }, 1, { signal, maxBody: 0 })
    if (row !== undefined) return false
    const { serves } = await loadOwn(context, shard, { signal })
    if (serves.away?.some((record) => isGone(place, record)) === true) return false
    other.readTo = until
    return true
  }

  /** Returns the turn of a copy that arrived by a move. */
  async function turnOfCopy({ move, from }: Arrival, bucket: number): Promise<Turn> {
    const place = placeOn(from)
    // The follower has not begun there, so it is not known whether its stream has the rows.
    if (place === undefined || place.since === 0) return 'hold'
    const { away } = await otherShard(from)
    const emptied = away.get(bucket)?.find((record) => record.move === move)?.emptied
    return emptied !== undefined && place.since >= emptied ? 'give' : 'skip'
  }

  return {
    get isSource() {
      const { away = [], leaving = [] } = known?.own.serves ?? {}
      return away.length + leaving.length > 0
    },
    isBehind: ({ updated }) =>
      known?.own.serves.away?.some(({ end, emptied }) => emptied === undefined && updated < end) === true,
    async learn(epoch, place) {
      if (buckets === undefined) return
      if (known?.own.catalog.epoch !== epoch) {
        known = viewOf(await loadOwn(context, number, { signal }))
        others = new Map()
      }
      const gone = known.own.serves.away?.find((record) => isGone(place, record))
      if (gone !== undefined) throw changesGone(context, number, gone)
    },
    async turnOf({ id, updated }) {
      if (buckets === undefined || known === undefined || known.isWhole) return 'give'
      const bucket = buckets.ofId(id)
      const coming = known.coming.get(bucket)
      if (!known.owns.has(bucket) && (coming !== undefined || !known.away.has(bucket))) {
        const isBegun = coming === undefined || (placeOn(coming.from)?.since ?? 0) > 0
        return isBegun ? 'skip' : 'hold'
      }
      const arrival = known.arrived.get(bucket)
      if (arrival === undefined) return 'give'
      const turn = updated < arrival.begin ? await turnOfCopy(arrival, bucket) : 'give'
      return turn !== 'give' || (await isPassed(bucket)) ? turn : 'hold'
    },
  }
}

interface Arrival {
  readonly move: number
  readonly from: number
  readonly begin: number
}

interface OtherShard {
  /** Floor at which the follower began there when this was read. */
  readonly since: number | undefined
  /** By bucket. */
  readonly away: ReadonlyMap<number, readonly AwayBuckets[]>
  /** Changes of departed buckets before this time were read. */
  readTo: number
}

interface ShardView {
  readonly own: OwnBuckets
  /** True while no bucket has ever come or left. */
  readonly isWhole: boolean
  readonly owns: ReadonlySet<number>
  /** Buckets that went away, and whose rows are still here. */
  readonly away: ReadonlySet<number>
  readonly coming: ReadonlyMap<number, { readonly from: number }>
  readonly arrived: ReadonlyMap<number, Arrival>
}

function viewOf(own: OwnBuckets): ShardView {
  const { owns, away = [], coming = [], arrived = [] } = own.serves
  const byBucket = <Item extends { readonly buckets: string }>(items: readonly Item[]): Map<number, Item> =>
    new Map(items.flatMap((item) => bucketsIn(item.buckets).map((bucket) => [bucket, item] as const)))
  const full = away.filter(({ emptied }) => emptied === undefined)
  return {
    own,
    isWhole: own.catalog.serves === undefined,
    owns: new Set(bucketsIn(owns)),
    away: new Set(byBucket(full).keys()),
    coming: byBucket(coming),
    arrived: byBucket(arrived),
  }
}

/** Tells whether a follower has read every change of these buckets, or began after their rows were deleted. */
function hasRead({ updated, since }: FollowedPlace, { end, emptied = Infinity }: AwayBuckets): boolean {
  return updated >= end || since >= emptied
}

/** Tells whether changes that the follower has not read may be deleted. */
function isGone(place: FollowedPlace, away: AwayBuckets): boolean {
  return away.emptied !== undefined && !hasRead(place, away)
}

function changesGone(context: EngineContext, number: number, { to }: AwayBuckets): LooseleafError {
  const { name } = shardAt(context, number)
  return new LooseleafError(
    'CHANGES_GONE',
    `${name}: entities after this place of the changes moved to shard ${to}, and were deleted here. Begin again with 'beginning', and drop everything that no change confirms.`,
    { shard: name },
  )
}
