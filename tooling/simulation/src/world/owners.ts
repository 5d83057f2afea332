import type { Router } from '@looseleaf/core'
import { bucketsIn, type ShardCatalog } from '@looseleaf/core/internal'
import { createPlacement, latestLayout, type Placement } from '@looseleaf/index-engine/internal'
import type { ReferenceDriver, ReferenceRow, ReferenceShard } from '@looseleaf-tooling/kit/reference-driver'

/** Tells which of the rows in the databases count, at this instant. Rows of moving buckets are on two shards. */
export interface Owners {
  /** Returns the shards that the store has had by now. */
  members(): readonly ReferenceShard[]
  /** Tells whether a shard was removed, by the catalog of another shard. */
  isRemoved(number: number): boolean
  /** Returns the catalogs of the shards that were not removed; empty until each has one. */
  catalogs(): readonly ShardCatalog[]
  /** Returns the places of rows by the latest layout. */
  placement(): Placement
  /** Returns the shard whose row of an entity counts: the owner of its bucket, or the last one. */
  ofId(id: Uint8Array): ReferenceShard
  /** Returns the row of an entity at its owner. */
  current(id: Uint8Array): ReferenceRow | undefined
  /** Returns all rows at the owners of their entities. */
  rows(): readonly ReferenceRow[]
  /** Describes buckets that several shards own. */
  doubled(): readonly string[]
  /** Call after each change of the databases. */
  observe(): void
}

/** Derives the owners from the shards' own records, and not by the code of the store. */
export function createOwners(driver: ReferenceDriver, router: Router, founders: number): Owners {
  const { shards } = driver
  const ofId = router.buckets!.ofId
  const parsed = new WeakMap<object, ReadonlySet<number>>()
  /** By bucket. */
  const last = new Map<number, number>()
  /** Buckets of all entities. */
  const buckets = new Set<number>()
  let compared: { known: readonly (ShardCatalog | undefined)[]; doubled: readonly string[] } | undefined
  let placed: { known: readonly (ShardCatalog | undefined)[]; placement: Placement } | undefined

  function bucketOf(id: Uint8Array): number {
    const bucket = ofId(id)
    buckets.add(bucket)
    return bucket
  }

  function members(): readonly ReferenceShard[] {
    const layout = latestLayout(shards.map((shard) => shard.contents()))
    return shards.slice(0, Math.max(founders, layout?.shards.length ?? 0))
  }

  function ownedBy(catalog: ShardCatalog): ReadonlySet<number> {
    const known = parsed.get(catalog)
    if (known !== undefined) return known
    const { serves, layout, shardNumber } = catalog
    const owned = new Set(bucketsIn(serves?.owns ?? layout?.shards[shardNumber]?.buckets ?? ''))
    parsed.set(catalog, owned)
    return owned
  }

  function ownersOf(bucket: number): number[] {
    return shards.flatMap((shard, number) => {
      const catalog = shard.contents()
      return catalog !== undefined && ownedBy(catalog).has(bucket) ? [number] : []
    })
  }

  function ownerOf(bucket: number): number {
    const owner = ownersOf(bucket).at(-1) ?? last.get(bucket) ?? router.buckets!.shards[bucket]!
    last.set(bucket, owner)
    return owner
  }

  function doubledOf(bucket: number): readonly string[] {
    const owners = ownersOf(bucket)
    return owners.length > 1 ? [`bucket ${bucket} is owned by shards ${owners.join(' and ')}`] : []
  }

  const hasMoves = (): boolean => shards.some((shard) => shard.contents()?.serves !== undefined)

  const isRemoved = (number: number): boolean =>
    shards.some((shard, at) => at !== number && shard.contents()?.layout?.shards[number]?.state === 'removed')

  /** By shard number; undefined for removed shards. */
  const presentCatalogs = (): readonly (ShardCatalog | undefined)[] =>
    members().map((shard, number) => (isRemoved(number) ? undefined : shard.contents()))

  function catalogs(): readonly ShardCatalog[] {
    const present = members().filter((_, number) => !isRemoved(number))
    const known = present.map((shard) => shard.contents())
    return known.includes(undefined) ? [] : (known as readonly ShardCatalog[])
  }

  return {
    members,
    isRemoved,
    catalogs,
    placement() {
      const known = presentCatalogs()
      if (placed?.known.length !== known.length || known.some((each, i) => each !== placed?.known[i])) {
        const layout = latestLayout(known)
        placed = { known, placement: createPlacement(router, { layout, shards: known }, known.length) }
      }
      return placed.placement
    },
    ofId: (id) => shards[ownerOf(bucketOf(id))]!,
    current(id) {
      return this.ofId(id).entities.current(id)
    },
    rows() {
      const moving = hasMoves()
      return shards.flatMap((shard, number) =>
        moving
          ? shard.entities.rows.filter(({ id }) => ownerOf(bucketOf(id)) === number)
          : shard.entities.rows,
      )
    },
    doubled() {
      if (!hasMoves()) return []
      const known = shards.map((shard) => shard.contents())
      if (compared?.known.every((catalog, i) => catalog === known[i]) !== true)
        compared = { known, doubled: router.buckets!.shards.flatMap((_, bucket) => doubledOf(bucket)) }
      return compared.doubled
    },
    observe() {
      for (const bucket of buckets) ownerOf(bucket)
    },
  }
}
