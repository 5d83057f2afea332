import type { Bag, Router } from '@looseleaf/core'
import type { IndexPredicate } from '@looseleaf/core/internal'
import { defineIndex, defineKey, type NearKey } from '@looseleaf/index-engine'
import { placeOfNear } from '@looseleaf/index-engine/internal'

/** One row per entity. It moves within the searched range, between shards, and in either direction. */
export const byRank = defineIndex('by_rank', { properties: { rank: 'integer' }, shardOn: 'rank' })

/** The same rows on the shard of their entity, in lives whose entities are near each other. */
export const byNearRank = defineIndex('by_near_rank', { properties: { rank: 'integer' }, shardOn: 'id' })

/** Two ranks share a key. */
export const pairOf = (rank: number): number => Math.floor(rank / 2)

const pair = defineKey({ name: 'pair', version: 1, from: 'integer', derive: pairOf })

/** Condition of partial indexes; writes change whether entities meet it. */
const open = { open: true } as const

/**
 * A derived key, so that an entity may get another rank and keep its row. Entities without a group have a
 * row; only open ones are indexed.
 */
export const byPair = defineIndex('by_pair', {
  properties: { pair: { type: 'integer', of: 'rank', key: pair }, group: { type: 'string', nulls: 'last' } },
  shardOn: 'pair',
  on: open,
})

/** Added, dropped and added again under load. */
export const byGroupAndRank = defineIndex('by_group_and_rank', {
  properties: { group: 'string', rank: 'integer' },
  shardOn: 'id',
})

/** The same name with another placement, and with open entities only. */
export const byGroupAndRankElsewhere = defineIndex('by_group_and_rank', {
  properties: { group: 'string', rank: 'integer' },
  shardOn: 'group',
  on: open,
})

/** Several keys per entity, on both shards; open entities compete for them. */
export const byName = defineIndex('by_name', {
  properties: { names: 'string[]' },
  shardOn: 'names',
  unique: true,
  include: ['rank'],
  on: open,
})

/** Added, dropped and added again over entities with the same keys. */
export const bySeat = defineIndex('by_seat', {
  properties: { seat: 'integer' },
  shardOn: 'seat',
  unique: true,
})

/** The same keys, which both generations claim together. */
export const bySeatListed = defineIndex('by_seat', {
  properties: { seat: 'integer' },
  shardOn: 'seat',
  unique: true,
  include: ['rank', 'names'],
})

/** Tells whether an index with this `on` covers the entity. */
export function isOf(on: IndexPredicate | undefined, bag: Bag): boolean {
  return on === undefined || bag['open'] === on['open']
}

/** Returns the keys of an entity in a unique index, by the index's name. */
export function keysIn(index: string, bag: Bag): readonly unknown[] {
  if (index === byName.name) return isOf(byName.on, bag) ? (bag['names'] as readonly unknown[]) : []
  return bag['seat'] === null ? [] : [bag['seat']]
}

export const NAMES = ['ada', 'bob', 'cyd', 'dan', 'eve', 'fay'] as const
export const SEATS = 5
export const TAGS = ['red', 'green', 'blue', 'grey'] as const
export const GROUPS = ['north', 'south', 'east'] as const
/** Alternate between the shards; a test ensures it. */
export const RANKS = [9, 10, 11, 12] as const

/** Values that entities get. */
export interface EntityValues {
  readonly tags: readonly string[]
  readonly groups: readonly string[]
  readonly ranks: readonly number[]
}

export const ALL_VALUES: EntityValues = { tags: TAGS, groups: GROUPS, ranks: RANKS }

/** Returns the values whose rows are on this shard. Closed entities have no row for their pair. */
export function valuesOn(shard: number, router: Router): EntityValues {
  const isHere = (key: NearKey): boolean =>
    placeOfNear(key, { ofId: router.shardOfId, ofKey: router.shardOfKey }) === shard
  return {
    tags: TAGS.filter((string) => isHere({ string })),
    groups: GROUPS.filter((string) => isHere({ string })),
    ranks: RANKS.filter((integer) => isHere({ integer })),
  }
}
