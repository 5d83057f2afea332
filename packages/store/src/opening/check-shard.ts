import { LooseleafError, type Router, type Shard } from '@looseleaf/core'
import type { ShardCatalog, StoreLayout } from '@looseleaf/core/internal'
import { bucketsOf, notMigrated, requireEntityTable } from '@looseleaf/index-engine/internal'

/** A store as a process knows it: a catalog of one of its shards, and the router that was given. */
export interface StoreIdentity {
  readonly router: Router
  readonly catalog: ShardCatalog
}

/** Throws `LAYOUT_MISMATCH` unless this is a shard of the store, and the router and the table of entities fit it. */
export function checkShard(
  shard: Shard,
  catalog: ShardCatalog,
  { router, catalog: other }: StoreIdentity,
): void {
  if (catalog.storeId !== other.storeId) {
    refuse(
      shard,
      `it belongs to another store (${catalog.storeId}) than the other shards (${other.storeId}). Give the addresses of one store, or an empty database for a new one.`,
    )
  }
  requireEntityTable(shard, catalog)
  const { layout } = catalog
  const isBucketed = layout?.scheme !== undefined
  if (isBucketed ? bucketsOf(router)?.scheme !== layout.scheme : catalog.router !== router.fingerprint) {
    const scheme = isBucketed ? `, with buckets of the scheme ${layout.scheme}` : ''
    refuse(
      shard,
      `its store was made with the router ${catalog.router}${scheme}, but the router given is ${router.fingerprint}. Give the router that the store was made with: another one would look for entities on the wrong shards.`,
    )
  }
  // Two layouts may be a change apart.
  const hasLayouts = layout !== undefined && other.layout !== undefined
  if (!hasLayouts && countOf(catalog) !== countOf(other)) {
    refuse(
      shard,
      `it belongs to a store of ${countText(countOf(catalog))}, but by the other shards the store has ${countOf(other)}.`,
    )
  }
}

/** Checks a shard that answers for the first time. Throws `NOT_MIGRATED`, and `LAYOUT_MISMATCH` unless it has this number in the store. */
export function checkLateShard(
  shard: Shard,
  catalog: ShardCatalog | undefined,
  identity: StoreIdentity,
  number: number,
  why: string,
): void {
  if (catalog === undefined) throw notMigrated(shard)
  checkShard(shard, catalog, identity)
  if (catalog.shardNumber !== number)
    refuse(shard, `it is shard ${catalog.shardNumber} of its store, but ${why}`)
}

/**
 * Throws `LAYOUT_MISMATCH` if another database has got the number of this one. The process that added this one has died before the layout had
 * it, or a crash has undone the layout. Its own catalog then has another name for the number, or none. Its address may have changed.
 */
export function checkName(
  shard: Shard,
  { shardNumber, layout: own }: ShardCatalog,
  layout: StoreLayout | undefined,
): void {
  const name = layout?.shards[shardNumber]?.name
  if (own === undefined || name === undefined) return
  if ((own.shards[shardNumber]?.name ?? shard.name) !== name) {
    refuse(
      shard,
      `it began to join its store as shard ${shardNumber}, which was not finished, and shard ${shardNumber} is ${name} now. Leave it out of the list, or make it another shard with \`looseleaf shard add\`.`,
    )
  }
}

const countOf = ({ layout, shardCount }: ShardCatalog): number => layout?.shards.length ?? shardCount

export const countText = (count: number): string => `${count} ${count === 1 ? 'shard' : 'shards'}`

export function refuse(shard: Shard, problem: string): never {
  throw new LooseleafError('LAYOUT_MISMATCH', `Shard ${shard.name}: ${problem}`, { shard: shard.name })
}
