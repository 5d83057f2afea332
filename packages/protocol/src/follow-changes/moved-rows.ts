import { bucketsIn, type AwayBuckets, type UpdatedPlace } from '@looseleaf/core/internal'
import { bucketsOf, type EngineContext } from '@looseleaf/index-engine/internal'
import { loadOwn, type OwnBuckets } from '../moves/own-buckets.ts'
import type { FollowedPlace } from '../purged.ts'
import { changesGone, isGone, placeOnRemoved, removedAway } from './removed-place.ts'

/**
 * Turn of a changed row in the stream of one shard:
 * - `give`: it is the next change.
 * - `skip`: the row is a copy of a state that the stream of another shard gives, or gives the latest state of.
 * - `hold`: earlier states of the entity are still to come from another shard.
 */
export type Turn = 'give' | 'skip' | 'hold'

/** Tells which rows of a shard are changes, while buckets move between the shards of a store. */
export interface MovedRows {
  /** Learns the buckets of the shard. Call it after a page was read, with an epoch of the shard that was read after it. */
  learn(epoch: number): Promise<void>
  /** Throws `CHANGES_GONE` if the shard has deleted rows of moved entities after this place. */
  requireKept(place: FollowedPlace): void
  turnOf(row: UpdatedPlace & { readonly id: Uint8Array }): Promise<Turn>
  /** Epoch of the buckets that were learned last; undefined before the first time. */
  readonly epoch: number | undefined
  /** Whether other shards may wait for the place of this one. */
  readonly isSource: boolean
  /** Tells whether the shard has changes of departed buckets after this place, or may have had them. */
  isBehind(place: UpdatedPlace): boolean
  /** Tells whether another shard has the bucket of an entity, and a follower at this place has read all of its changes here. */
  isOver(id: Uint8Array, place: UpdatedPlace): boolean
}

/** Progress of a follower on the other shards of a store. */
export interface FollowerProgress {
  /** Returns the floor at which the follower began on a shard; undefined if it has not begun there. */
  sinceOn(shard: number): Promise<number | undefined>
  /**
   * Tells whether the follower has handled all changes of a bucket on a shard, which gave it up as these records tell. Resolves with true
   * only if no crash can take that back.
   */
  hasHandled(shard: number, bucket: number, away: readonly AwayBuckets[]): Promise<boolean>
}

/**
 * Makes the view of one shard's stream.
 *
 * An entity that moves has rows on two shards. These rules keep an older state from following a newer one, and the last state from being lost:
 * 1. A shard gives the rows that were written there: those from the floor on at which it began (`begin`). Earlier ones are copies, and their
 *    states come from the source. A shard that has given a bucket up still gives its rows, until it deletes them.
 * 2. A row that was written after the arrival is held until the follower has handled every change of the bucket on all other shards.
 * 3. A follower that began after the source was told to delete its rows takes the copies instead.
 * 4. A follower whose place at the source is before the last moved row, and that began before the deletion, gets `CHANGES_GONE`.
 */
export function createMovedRows(
  context: EngineContext,
  number: number,
  progress: FollowerProgress,
  signal: AbortSignal,
): MovedRows {
  const buckets = bucketsOf(context.router)
  let known: ShardView | undefined
  let others = new Map<number, OtherShard>()
  const { hasHandled } = progress
  /** By bucket, the beginning of the arrival before which the follower has handled all changes on other shards. */
  const passed = new Map<number, number>()

  async function sinceOn(shard: number): Promise<number | undefined> {
    return (await progress.sinceOn(shard)) ?? placeOnRemoved(context, shard, undefined)?.since
  }

  /**
   * Returns what another shard has given up. It was read after the buckets of this shard, so it has every departure before their arrival, and
   * after the follower began there, so a deletion that it lacks is later than that.
   */
  async function otherShard(shard: number): Promise<OtherShard> {
    const since = await sinceOn(shard)
    const kept = others.get(shard)
    if (kept !== undefined && kept.since === since) return kept
    const given = removedAway(context, shard) ?? (await loadOwn(context, shard, { signal })).serves.away
    const away = Map.groupBy(
      (given ?? []).flatMap((record) => bucketsIn(record.buckets).map((bucket) => ({ bucket, record }))),
      ({ bucket }) => bucket,
    )
    const records = new Map(
      Array.from(away, ([bucket, found]) => [bucket, found.map(({ record }) => record)]),
    )
    const other = { since, away: records }
    others.set(shard, other)
    return other
  }

  /** Tells whether the follower has handled all changes that the bucket had on other shards before this arrival. */
  async function isPassed({ begin }: Arrival, bucket: number): Promise<boolean> {
    if (passed.get(bucket) === begin) return true
    for (const shard of context.driver.shards.keys()) {
      if (shard === number) continue
      const { since, away } = await otherShard(shard)
      const records = away.get(bucket)
      if (records === undefined) continue
      if (since === undefined || !(await hasHandled(shard, bucket, records))) return false
    }
    passed.set(bucket, begin)
    return true
  }

  /** Returns the turn of a copy that arrived by a move. */
  async function turnOfCopy({ move, from }: Arrival, bucket: number): Promise<Turn> {
    const { since, away } = await otherShard(from)
    // The follower has not begun there, so it is not known whether its stream has the rows.
    if (since === undefined) return 'hold'
    const emptied = away.get(bucket)?.find((record) => record.move === move)?.emptied
    return emptied !== undefined && since >= emptied ? 'give' : 'skip'
  }

  return {
    get epoch() {
      return known?.own.catalog.epoch
    },
    get isSource() {
      const { away = [], leaving = [] } = known?.own.serves ?? {}
      return away.length + leaving.length > 0
    },
    isBehind: ({ updated }) => known?.own.serves.away?.some(({ end }) => updated < end) === true,
    isOver(id, { updated }) {
      if (buckets === undefined || known === undefined || known.isWhole) return false
      const bucket = buckets.ofId(id)
      return !known.owns.has(bucket) && updated >= (known.away.get(bucket)?.end ?? 0)
    },
    async learn(epoch) {
      if (buckets === undefined || known?.own.catalog.epoch === epoch) return
      known = viewOf(await loadOwn(context, number, { signal }))
      others = new Map()
    },
    requireKept(place) {
      const gone = known?.own.serves.away?.find((record) => isGone(place, record))
      if (gone !== undefined) throw changesGone(context, number, gone)
    },
    async turnOf({ id, updated }) {
      if (buckets === undefined || known === undefined || known.isWhole) return 'give'
      const bucket = buckets.ofId(id)
      const coming = known.coming.get(bucket)
      if (!known.owns.has(bucket) && (coming !== undefined || !known.away.has(bucket))) {
        const isBegun = coming === undefined || (await sinceOn(coming.from)) !== undefined
        return isBegun ? 'skip' : 'hold'
      }
      const arrival = known.arrived.get(bucket)
      if (arrival === undefined) return 'give'
      const turn = updated < arrival.begin ? await turnOfCopy(arrival, bucket) : 'give'
      return turn !== 'give' || (await isPassed(arrival, bucket)) ? turn : 'hold'
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
}

interface ShardView {
  readonly own: OwnBuckets
  /** True while no bucket has ever come or left. */
  readonly isWhole: boolean
  readonly owns: ReadonlySet<number>
  /** Buckets that went away, and whose rows are still here. */
  readonly away: ReadonlyMap<number, { readonly end: number }>
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
    away: byBucket(full),
    coming: byBucket(coming),
    arrived: byBucket(arrived),
  }
}
