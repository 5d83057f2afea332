import type { CallOptions } from '@looseleaf/core'
import { bucketsIn, isOutage } from '@looseleaf/core/internal'
import { isRemoved, type EngineContext, type PlacedCatalog } from '@looseleaf/index-engine/internal'
import { beginTarget } from '../moves/begin-target.ts'
import { catalogAfter, ownersAfter } from './catalog-after.ts'
import { noOwner } from './no-owner.ts'

/** Milliseconds before a shard is read again of which no bucket could be read. */
const PAUSE_MS = 50
/** Readings in a row without a bucket that could be read. A handover takes some milliseconds. */
const MAX_VAIN = 200

/** Knows which rows of a shard's table belong to the shard while the table is read. */
export interface OwnedWatch {
  /**
   * Returns those of these rows that the shard has owned all the time since the last call, or since the watch began. Call it after the rows
   * were read, and before anything is done with them.
   */
  owned<Row extends { readonly id: Uint8Array }>(rows: readonly Row[]): Promise<readonly Row[]>
  /** The buckets that the shard has owned since the watch began, up to the last call. */
  readonly kept: ReadonlySet<number>
  /** The catalog of the last call. */
  readonly catalog: PlacedCatalog
}

/**
 * Begins to watch the buckets of a shard. While a bucket moves, its entities are on two shards: copies at the new one, leftovers at the
 * old one. Only the rows of the owner count. Without any move in the layout, all rows of a shard belong to it.
 */
export async function watchOwned(
  context: EngineContext,
  shard: number,
  options: CallOptions,
): Promise<OwnedWatch> {
  let known = await ownersAfter(context, shard, context.catalog.current(), options)
  const served = known.placement.servedOn(shard)
  let kept: Set<number> | undefined
  // Copied when it is needed, because most readings end without a look at thousands of buckets.
  const keptBuckets = (): Set<number> => (kept ??= new Set(served.keys()))

  return {
    get catalog() {
      return known
    },
    get kept() {
      return keptBuckets()
    },
    async owned(rows) {
      const before = known
      // Copies of a move that was announced some seconds ago are there before the looks that are relied on. A store without moves has none.
      const haveForeign = rows.some(({ id }) => before.placement.shardOfId(id) !== shard)
      known = await (haveForeign ? catalogAfter : ownersAfter)(context, shard, before, options)
      if (known.placement !== before.placement) {
        const now = known.placement.servedOn(shard)
        const buckets = keptBuckets()
        for (const bucket of buckets) if (now.get(bucket) !== served.get(bucket)) buckets.delete(bucket)
      }
      if (known.layout?.moves === undefined) return rows
      return rows.filter(
        ({ id }) =>
          owns(before, shard, id) &&
          owns(known, shard, id) &&
          before.placement.arrivalOfId(id) === known.placement.arrivalOfId(id),
      )
    },
  }
}

function owns({ placement }: PlacedCatalog, shard: number, id: Uint8Array): boolean {
  return placement.shardOfId(id) === shard && placement.isServed(id)
}

interface PlacedRow {
  readonly id: Uint8Array
}

/** Reads runs of a shard's rows in the order of `addedId`, from behind a place. */
export type ReadRuns<Row> = (shard: number, after: number) => AsyncIterable<readonly Row[]>

/**
 * Yields the rows of all shards, each from the owner of its bucket, with the number of that shard. No row is missed while buckets move: a
 * bucket counts as read only if one shard has owned it during the whole reading of that shard. The others are then read again at
 * their owners, so their rows may come twice, in a later state the second time. Rejects as `walkUnread` does.
 */
export async function* walkOwned<Row extends PlacedRow>(
  context: EngineContext,
  read: ReadRuns<Row>,
  options: CallOptions,
): Walk<Row> {
  const { catalog, driver } = context
  const unread = allBuckets(context)
  // A shard that joins meanwhile gets its buckets from the others.
  for (let shard = 0; shard < driver.shards.length; shard++) {
    if (driver.removed?.has(shard)) continue
    try {
      yield* walkShard(context, shard, { read, unread, isAgain: false }, options)
    } catch (error) {
      // Its buckets are unread, and on other shards.
      if (!isOutage(error) || !isRemoved((await catalog.reload(options)).layout, shard)) throw error
    }
  }
  yield* walkUnread(context, unread, read, options)
}

/** Returns all buckets of a store, none of a router without buckets. */
export function allBuckets({ router }: EngineContext): Set<number> {
  return new Set(router.buckets?.shards.keys())
}

/**
 * Yields the rows of these buckets from their owners, as `walkOwned` does, and takes each bucket out of the set once it was read whole. Rejects
 * with `SHARD_BUSY` if no shard serves a bucket for long, as when its mover has died and it cannot begin at its new shard.
 */
export async function* walkUnread<Row extends PlacedRow>(
  context: EngineContext,
  unread: Set<number>,
  read: ReadRuns<Row>,
  options: CallOptions,
): Walk<Row> {
  const { catalog, time } = context
  let vain = 0
  while (unread.size > 0) {
    const { shardOfBucket = [] } = (await catalog.reload(options)).placement
    for (const shard of new Set(Array.from(unread, (bucket) => shardOfBucket[bucket] as number))) {
      const before = unread.size
      yield* walkShard(context, shard, { read, unread, isAgain: true }, options)
      vain = unread.size < before ? 0 : vain + 1
      if (vain === 0) continue
      if (vain >= MAX_VAIN) throw noOwner(vain)
      // No shard serves a bucket that the last owner has given up, if its mover has died. It begins here then.
      await beginTarget(context, shard, options)
      await time.sleep(PAUSE_MS, options.signal)
    }
  }
}

type Walk<Row> = AsyncGenerator<readonly [rows: readonly Row[], shard: number], void, undefined>

interface Reading<Row> {
  readonly read: ReadRuns<Row>
  readonly unread: Set<number>
  readonly isAgain: boolean
}

async function* walkShard<Row extends PlacedRow>(
  context: EngineContext,
  shard: number,
  { read, unread, isAgain }: Reading<Row>,
  options: CallOptions,
): Walk<Row> {
  const { buckets } = context.router
  const isUnread = ({ id }: Row): boolean => buckets === undefined || unread.has(buckets.ofId(id))
  const watch = await watchOwned(context, shard, options)
  if (isAgain && unread.isDisjointFrom(watch.kept)) return
  const after = isAgain ? placeBefore(watch.catalog, shard, unread.intersection(watch.kept)) : 0
  for await (const rows of read(shard, after)) {
    const owned = await watch.owned(rows)
    // By a layout without moves, a row on the wrong shard is read as well.
    const some = watch.catalog.layout?.moves === undefined && !isAgain ? owned : owned.filter(isUnread)
    if (some.length > 0) yield [some, shard]
  }
  await watch.owned([])
  for (const bucket of watch.kept) unread.delete(bucket)
}

/**
 * Returns a place, by `addedId`, before all rows of these buckets of a shard: the place of the move for buckets that have arrived, and 0
 * for buckets that the shard has always had.
 */
export function placeBefore(catalog: PlacedCatalog, shard: number, buckets: Iterable<number>): number {
  const { arrived = [] } = catalog.shards[shard]?.serves ?? {}
  const served = catalog.placement.servedOn(shard)
  const places = new Map<number, number>()
  for (const { begin, buckets: text, afterAddedId } of arrived)
    for (const bucket of bucketsIn(text)) if (served.get(bucket) === begin) places.set(bucket, afterAddedId)
  const first = Math.min(...Array.from(buckets, (bucket) => places.get(bucket) ?? 0))
  return first === Infinity ? 0 : first
}
