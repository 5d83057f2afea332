import { parseId } from '@looseleaf/core'
import {
  bucketsIn,
  getOrInsert,
  type ArrivedBuckets,
  type AwayBuckets,
  type UpdatedPlace,
} from '@looseleaf/core/internal'
import { bucketsOf, isPending, type EngineContext } from '@looseleaf/index-engine/internal'
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
  /** Returns a promise only if another shard has to be asked. */
  turnOf(row: UpdatedPlace & { readonly id: Uint8Array }): Turn | Promise<Turn>
  /**
   * Tells whether the follower has handled all changes that an entity had on other shards before it came here. Returns a promise only if
   * another shard has to be asked.
   */
  isNext(id: string): boolean | Promise<boolean>
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
  sinceOn(shard: number): number | undefined
  /**
   * Tells whether the follower has handled all changes of a bucket on a shard, which gave it up as these records tell. Resolves with true
   * only if no crash can take that back. With `id`, changes that fail there count only if they are of this entity.
   */
  hasHandled(shard: number, bucket: number, away: readonly AwayBuckets[], id?: string): Promise<boolean>
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
  let others = new Map<number, OtherShard | Promise<OtherShard>>()
  const { hasHandled } = progress
  /** By bucket, the beginning of the arrival before which the follower has handled all changes on other shards. */
  const passed = new Map<number, number>()
  /** Entities of other buckets, by id, whose changes on other shards the follower has handled. */
  let passedIds = new Set<string>()

  function sinceOn(shard: number): number | undefined {
    return progress.sinceOn(shard) ?? placeOnRemoved(context, shard, undefined)?.since
  }

  /**
   * Returns what another shard has given up. It was read after the buckets of this shard, so it has every departure before their arrival, and
   * after the follower began there, so a deletion that it lacks is later than that.
   */
  function otherShard(shard: number): OtherShard | Promise<OtherShard> {
    const since = sinceOn(shard)
    // The buckets of this shard may be learned again before the answer, which is not kept then.
    const asked = others
    const kept = asked.get(shard)
    if (kept !== undefined && (isPending(kept) || kept.since === since)) return kept
    const reading = readOther(shard, since)
    asked.set(shard, reading)
    reading.then(
      (other) => asked.set(shard, other),
      () => asked.delete(shard),
    )
    return reading
  }

  async function readOther(shard: number, since: number | undefined): Promise<OtherShard> {
    const given = removedAway(context, shard) ?? (await loadOwn(context, shard, { signal })).serves.away
    const away = new Map<number, AwayBuckets[]>()
    for (const record of given ?? [])
      for (const bucket of bucketsIn(record.buckets)) getOrInsert(away, bucket, () => []).push(record)
    return { since, away }
  }

  /** Tells whether the follower has handled all changes that the bucket had on other shards before this arrival. */
  const isPassed = ({ begin }: Arrival, bucket: number): boolean | Promise<boolean> =>
    passed.get(bucket) === begin || isBucketHandled(begin, bucket)

  async function isBucketHandled(begin: number, bucket: number): Promise<boolean> {
    const isHandled = await areHandled(bucket)
    if (isHandled) passed.set(bucket, begin)
    return isHandled
  }

  async function isEntityHandled(id: string, bucket: number): Promise<boolean> {
    // The buckets of this shard may be learned again before the answer, which is not kept then.
    const ids = passedIds
    const isHandled = await areHandled(bucket, id)
    if (isHandled) ids.add(id)
    return isHandled
  }

  async function areHandled(bucket: number, id?: string): Promise<boolean> {
    for (const shard of context.driver.shards.keys()) {
      if (shard === number) continue
      const { since, away } = await otherShard(shard)
      const records = away.get(bucket)
      if (records === undefined) continue
      if (since === undefined || !(await hasHandled(shard, bucket, records, id))) return false
    }
    return true
  }

  function turnOfCopy({ move }: Arrival, bucket: number, { since, away }: OtherShard): Turn {
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
      passedIds = new Set()
    },
    requireKept(place) {
      const gone = known?.own.serves.away?.find((record) => isGone(place, record))
      if (gone !== undefined) throw changesGone(context, number, gone)
    },
    turnOf({ id, updated }) {
      if (buckets === undefined || known === undefined || known.isWhole) return 'give'
      const bucket = buckets.ofId(id)
      const coming = known.coming.get(bucket)
      if (!known.owns.has(bucket) && (coming !== undefined || !known.away.has(bucket))) {
        return coming === undefined || sinceOn(coming.from) !== undefined ? 'skip' : 'hold'
      }
      const arrival = known.arrived.get(bucket)
      if (arrival === undefined) return 'give'
      const given = (): Turn | Promise<Turn> =>
        after(isPassed(arrival, bucket), (isHandled) => (isHandled ? 'give' : 'hold'))
      if (updated >= arrival.begin) return given()
      return after(otherShard(arrival.from), (other) => {
        const turn = turnOfCopy(arrival, bucket, other)
        return turn === 'give' ? given() : turn
      })
    },
    isNext(id) {
      if (buckets === undefined) return true
      const bucket = buckets.ofId(parseId(id))
      const arrival = known?.arrived.get(bucket)
      if (arrival === undefined || passed.get(bucket) === arrival.begin || passedIds.has(id)) return true
      return isEntityHandled(id, bucket)
    },
  }
}

/** Calls a function with a value, in this turn if the value is there. */
function after<Value, Result>(
  value: Value | Promise<Value>,
  then: (value: Value) => Result | Promise<Result>,
): Result | Promise<Result> {
  return isPending(value) ? value.then(then) : then(value)
}

type Arrival = Pick<ArrivedBuckets, 'move' | 'from' | 'begin'>

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
