import type { CallOptions } from '@looseleaf/core'
import {
  bucketsIn,
  formatRanges,
  rangesInclude,
  type AwayBuckets,
  type ShardCatalog,
} from '@looseleaf/core/internal'
import {
  bucketsOf,
  latestLayout,
  loadShardCatalogs,
  type EngineContext,
} from '@looseleaf/index-engine/internal'
import { withoutCopies } from './missing-copies.ts'
import { hasAttempt } from './own-buckets.ts'

/** Buckets that do not have exactly one shard, although no process is handing them over. */
export interface OwnerFault {
  /** Ranges such as `77-96`. */
  readonly buckets: string
  /** Numbers of the shards that own them: none, or more than one. */
  readonly owners: readonly number[]
  /** Fault and next step, for people. */
  readonly text: string
  /** True if an announced move copies the buckets again, so that `shards.repair` repairs the fault. */
  readonly isRepairable: boolean
  /** The record of the shard that gave the buckets up, if the other shard has lost them since. */
  readonly lost?: LostDeparture | undefined
}

/** A record of buckets that their new shard has lost, with the number of the shard that gave them up. */
export interface LostDeparture extends AwayBuckets {
  readonly from: number
}

/** A fault of one bucket. `place` has the shards whose catalogs show it. */
interface Found {
  readonly bucket: number
  readonly owners: readonly number[]
  readonly place: readonly number[]
  readonly isRepairable?: boolean
  readonly lost?: LostDeparture
  readonly textOf: (buckets: string) => string
}

/**
 * Finds buckets with two owners, and with none that could begin, by the shards' own catalogs. Both come of a server that lost commits, by a
 * failover or a restore. A hand-over between two readings looks the same, so a fault counts if its shards have the same epochs in two readings.
 */
export async function ownerFaults(
  context: EngineContext,
  options: CallOptions,
): Promise<readonly OwnerFault[]> {
  const first = await loadShardCatalogs(context.driver, options)
  const seen = faultsIn(context, first, await lackingIn(context, first, options))
  if (seen.length === 0) return []
  const second = await loadShardCatalogs(context.driver, options)
  const hasStayed = ({ place }: Found): boolean =>
    place.every((shard) => first[shard]?.epoch === second[shard]?.epoch)
  const byText = Map.groupBy(seen.filter(hasStayed), ({ textOf }) => textOf('…'))
  return Array.from(byText.values(), (found): OwnerFault => {
    const buckets = formatRanges(found.map(({ bucket }) => [bucket, bucket]))
    const [{ owners, textOf, isRepairable = false, lost }] = found as [Found]
    return { buckets, owners, text: textOf(buckets), isRepairable, lost }
  })
}

/** The catalogs of the shards, by number; undefined for one that has none any more. */
type Catalogs = readonly (ShardCatalog | undefined)[]

/** Returns the records of buckets that their new shard could begin with, if it had all of the copies. */
async function lackingIn(
  context: EngineContext,
  catalogs: Catalogs,
  options: CallOptions,
): Promise<ReadonlySet<AwayBuckets>> {
  const lacking = new Set<AwayBuckets>()
  for (const source of catalogs) {
    for (const [to, target] of catalogs.entries()) {
      const due = source?.serves?.away?.filter(
        (away) => away.to === to && hasAttempt(target?.serves?.coming, away),
      )
      if (due === undefined || due.length === 0) continue
      for (const away of await withoutCopies(context, to, due, options)) lacking.add(away)
    }
  }
  return lacking
}

function faultsIn(
  { router }: EngineContext,
  catalogs: Catalogs,
  lacking: ReadonlySet<AwayBuckets>,
): readonly Found[] {
  const count = bucketsOf(router)?.shards.length
  const layout = latestLayout(catalogs)
  // A store without moves has the owners of its layout.
  if (
    count === undefined ||
    layout === undefined ||
    catalogs.every((catalog) => catalog?.serves === undefined)
  )
    return []
  const owners = Array.from({ length: count }, (): number[] => [])
  const departures = new Map<number, { readonly away: AwayBuckets; readonly from: number }>()
  // The layout has the records of removed shards.
  for (const records of [
    catalogs.map((catalog) => catalog?.serves?.away),
    layout.shards.map(({ away }) => away),
  ])
    for (const [from, some = []] of records.entries())
      for (const away of some)
        for (const bucket of bucketsIn(away.buckets))
          if (away.move >= (departures.get(bucket)?.away.move ?? 0)) departures.set(bucket, { away, from })
  for (const [number, catalog] of catalogs.entries()) {
    const serves = catalog?.serves
    const arrivals = new Map<number, number>()
    for (const { move, buckets } of serves?.arrived ?? [])
      for (const bucket of bucketsIn(buckets)) arrivals.set(bucket, Math.max(move, arrivals.get(bucket) ?? 0))
    // A shard without a record of the arrival never had a bucket that another one gave up, or has lost it, whatever the layout says. Buckets of a removed
    // shard are there all the same: its moves were over.
    for (const bucket of bucketsIn(serves?.owns ?? layout.shards[number]?.buckets ?? '')) {
      const departure = departures.get(bucket)
      const isOver = departure === undefined || catalogs[departure.from] === undefined
      if (isOver || (arrivals.get(bucket) ?? 0) >= departure.away.move) owners[bucket]?.push(number)
    }
  }
  return owners.flatMap((shards, bucket): Found[] => {
    if (shards.length === 1) return []
    if (shards.length > 1)
      return [{ bucket, owners: shards, place: shards, textOf: twoOwners(catalogs, shards, bucket) }]
    const departure = departures.get(bucket)
    if (departure === undefined) return [{ bucket, owners: [], place: [...catalogs.keys()], textOf: noOwner }]
    const { away, from } = departure
    const { to, emptied } = away
    const canBegin =
      emptied === undefined &&
      !lacking.has(away) &&
      hasAttempt(catalogs[to]?.serves?.coming, { ...away, buckets: String(bucket) })
    if (canBegin) return []
    // Only a move whose rows are read at the source copies again. It is not undone any more.
    const phase = layout.moves?.find(({ id }) => id === away.move)?.phase
    const isRepairable = emptied === undefined && (phase === 'both' || phase === 'undoing')
    const lost = { ...away, from }
    // If the move was over, its target may have passed the bucket on, and have nothing to do with the fault.
    const last = layout.shards.findIndex(({ buckets = '' }) => rangesInclude(buckets, String(bucket)))
    const loser = emptied === undefined || last === from ? to : last
    const textOf = lostTarget({ ...lost, to: loser, isRepairable })
    return [{ bucket, owners: [], place: [from, loser], textOf, isRepairable, lost }]
  })
}

/** The shard with the latest arrival is used by all processes; the others went back to a state from before they gave the buckets up. */
function twoOwners(
  catalogs: Catalogs,
  shards: readonly number[],
  bucket: number,
): (buckets: string) => string {
  const arrival = (shard: number): number => {
    const arrived = catalogs[shard]?.serves?.arrived?.filter(({ buckets }) =>
      rangesInclude(buckets, String(bucket)),
    )
    return Math.max(-1, ...(arrived ?? []).map(({ move }) => move))
  }
  const latest = shards.toSorted((a, b) => arrival(b) - arrival(a))[0]!
  const others = shards.filter((shard) => shard !== latest).join(', ')
  return (buckets) =>
    `The buckets ${buckets} belong to shard ${latest}, and shard ${others} has gone back to a state in which it still owned them: its server lost commits, by a failover or a restore. Nothing was moved. Processes use shard ${latest}. Bring the server of shard ${others} back with all of its commits. If they are lost, see "A failover during a move" in the operations guide.`
}

const noOwner = (buckets: string): string =>
  `The buckets ${buckets} are on no shard, and no shard has a record of them. Put the column catalog of looseleaf_meta back from a backup, on every shard.`

/** Returns the text about buckets whose new shard has lost them. */
export function lostTarget({
  from,
  to,
  move,
  emptied,
  isRepairable,
}: AwayBuckets & { readonly from: number; readonly isRepairable: boolean }): (buckets: string) => string {
  const rest =
    emptied === undefined
      ? `Shard ${from} still has their entities as they were then`
      : `Shard ${from} was told to delete their entities since`
  const advice = isRepairable
    ? `${rest}, and the move copies them again. Call shards.repair unless a process works on the move.`
    : `Nothing was moved. Bring the server of shard ${to} back with all of its commits. ${rest}.`
  return (buckets) =>
    `The buckets ${buckets} are on no shard: shard ${from} gave them up in move ${move}, and shard ${to} went back to a state from before it had them: its server lost commits, by a failover or a restore. ${advice} See "A failover during a move" in the operations guide.`
}
