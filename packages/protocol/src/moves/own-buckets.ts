import { isLooseleafError, LooseleafError, type CallOptions } from '@looseleaf/core'
import {
  rangesInclude,
  unionOfRanges,
  withoutRanges,
  type ArrivedBuckets,
  type CatalogChangeOptions,
  type LayoutMove,
  type LeavingBuckets,
  type ShardCatalog,
  type ShardServes,
} from '@looseleaf/core/internal'
import {
  changeServes,
  loadShardCatalog,
  notMigrated,
  type EngineContext,
} from '@looseleaf/index-engine/internal'
import { shardAt } from '../shards.ts'

/** The catalog of a shard, with the buckets that it serves. */
export interface OwnBuckets {
  readonly catalog: ShardCatalog
  readonly serves: ShardServes
  /** A reading of the shard's clock for the next change, in microseconds since 1970. Undefined: that change reads the clock itself. */
  readonly now?: number
}

/** Changes of one catalog by others in a row after which a step gives up. */
const MAX_TRIES = 50

/** Reads a shard's own buckets. A shard without a record of its own has those of the layout. A crash may undo the state that was read. */
export async function loadOwn(
  context: EngineContext,
  number: number,
  options: CallOptions,
): Promise<OwnBuckets> {
  const shard = shardAt(context, number)
  const catalog = await loadShardCatalog(shard, options)
  if (catalog === undefined) throw notMigrated(shard)
  return ownOf(catalog)
}

function ownOf(catalog: ShardCatalog): OwnBuckets {
  const { serves, layout, shardNumber } = catalog
  return { catalog, serves: serves ?? { owns: layout?.shards[shardNumber]?.buckets ?? '' } }
}

/** Reads a shard's own buckets and its clock ahead of a change, so that the change itself is one statement. */
export async function loadTimed(
  context: EngineContext,
  number: number,
  options: CallOptions,
): Promise<OwnBuckets> {
  const [own, now] = await Promise.all([
    loadOwn(context, number, options),
    shardAt(context, number).now(options),
  ])
  return { ...own, now }
}

/**
 * Changes a shard's own buckets by compare-and-swap on its catalog, and tries again after a change by another process. `change` gets the
 * present state, and returns undefined to leave it. The first try goes by `known`, if that is given. Resolves with a durable state: an
 * unchanged one is flushed and read again.
 */
export async function changeOwn(
  context: EngineContext,
  number: number,
  change: (own: OwnBuckets) => ShardServes | undefined,
  options: CallOptions,
  known?: OwnBuckets,
): Promise<OwnBuckets> {
  const shard = shardAt(context, number)
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const first = tries === 0 ? known : undefined
    const own = first ?? (await loadOwn(context, number, options))
    const serves = change(own)
    if (serves === undefined) {
      // 1. Another process has changed the buckets, which is visible, but not on disk. 2. This one goes on by that change. 3. A crash
      // undoes it.
      await shard.flush(options)
      const again = await loadOwn(context, number, options)
      if (again.catalog.epoch === own.catalog.epoch) return own
      continue
    }
    const changed = await swapOwn(context, number, own, serves, options)
    if (changed !== undefined) return changed
  }
  throw new LooseleafError(
    'CONFLICT',
    `Other processes changed the buckets of ${shard.name} ${MAX_TRIES} times in a row. Try again when they are done.`,
    { shard: shard.name },
  )
}

/** Reads a shard's own buckets in a durable state. With `known`, which was read just now, by one statement less. */
export function durableOwn(
  context: EngineContext,
  number: number,
  options: CallOptions,
  known?: OwnBuckets,
): Promise<OwnBuckets> {
  return changeOwn(context, number, () => undefined, options, known)
}

/**
 * Changes a shard's own buckets if its catalog is still the given one, and if it has the state `holding`. Resolves with undefined if it is
 * not, or if there was no answer; the catalog then tells whether the change took place.
 */
export async function swapOwn(
  context: EngineContext,
  number: number,
  { catalog, now }: OwnBuckets,
  serves: ShardServes,
  options: CatalogChangeOptions,
): Promise<OwnBuckets | undefined> {
  try {
    const changed = await changeServes(shardAt(context, number), catalog, serves, { ...options, now })
    return changed && ownOf(changed)
  } catch (error) {
    if (isLooseleafError(error) && error.unknownOutcome) return undefined
    throw error
  }
}

type PlacedMove = Pick<LayoutMove, 'id' | 'from' | 'to' | 'buckets'>

/** Tells whether these are one move. Its number is not enough: after a failover that loses an announcement, another move may get it. */
export function isSameMove(move: PlacedMove, { id, from, to, buckets }: PlacedMove): boolean {
  return (
    move.id === id && move.from === from && move.to === to && withoutRanges(buckets, move.buckets) !== buckets
  )
}

/** Returns the announcement of a move in a shard's catalog; undefined once it has ended. */
export function announcedIn({ catalog }: OwnBuckets, move: PlacedMove): LayoutMove | undefined {
  return catalog.layout?.moves?.find((each) => isSameMove(each, move))
}

type Motion = Pick<LeavingBuckets, 'move' | 'attempt' | 'buckets'>

export function bucketsOfMove(records: readonly Motion[] | undefined, move: number): string {
  return unionOfRanges(...ofMove(records, move).map(({ buckets }) => buckets))
}

export function ofMove<Record extends Motion>(
  records: readonly Record[] | undefined = [],
  move: number,
): readonly Record[] {
  return records.filter((record) => record.move === move)
}

/** Returns the records of all other moves; undefined if there are none. */
export function ofOthers<Record extends Motion>(
  records: readonly Record[] | undefined = [],
  move: number,
): readonly Record[] | undefined {
  return someOf(records.filter((record) => record.move !== move))
}

/** Takes buckets out of records, and leaves out records without buckets; undefined if none is left. */
export function withoutBuckets<Record extends Motion>(
  records: readonly Record[] | undefined = [],
  buckets: string,
): readonly Record[] | undefined {
  return someOf(
    records.flatMap((record) => {
      const kept = withoutRanges(record.buckets, buckets)
      return kept === '' ? [] : [{ ...record, buckets: kept }]
    }),
  )
}

/** Returns the buckets that a shard has got by this move or a later one, which may have brought them again. */
export function arrivedSince(serves: ShardServes | undefined, move: number): string {
  const records = (serves?.arrived ?? []).filter((record) => record.move >= move)
  return unionOfRanges(...records.map(({ buckets }) => buckets))
}

/** Returns what a shard serves once it has begun with these buckets. Earlier arrivals of theirs are replaced. */
export function withArrivals(serves: ShardServes, arrivals: readonly ArrivedBuckets[]): ShardServes {
  const buckets = unionOfRanges(...arrivals.map((arrival) => arrival.buckets))
  return {
    ...serves,
    owns: unionOfRanges(serves.owns, buckets),
    arrived: [...(withoutBuckets(serves.arrived, buckets) ?? []), ...arrivals],
  }
}

/** Tells whether an attempt's record has these buckets. */
export function hasAttempt(
  records: readonly Motion[] | undefined,
  { move, attempt, buckets }: Motion,
): boolean {
  const found = ofMove(records, move).filter((record) => record.attempt === attempt)
  return rangesInclude(unionOfRanges(...found.map((record) => record.buckets)), buckets)
}

function someOf<Item>(items: readonly Item[]): readonly Item[] | undefined {
  return items.length === 0 ? undefined : items
}
