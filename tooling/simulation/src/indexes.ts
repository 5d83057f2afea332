import type { Bag } from '@looseleaf/core'
import { defineIndex, defineKey } from '@looseleaf/index-engine'

/** One row per entity, which moves within what is asked for, between shards and in either direction. */
export const byRank = defineIndex('by_rank', { properties: { rank: 'integer' }, shardOn: 'rank' })

/** Two ranks have one key. */
export const pairOf = (rank: number): number => Math.floor(rank / 2)

const pair = defineKey({ name: 'pair', version: 1, from: 'integer', derive: pairOf })

/** A key that is derived, so that an entity may get another rank and keep its row; and a row for what is in no group as well. */
export const byPair = defineIndex('by_pair', {
  properties: { pair: { type: 'integer', of: 'rank', key: pair }, group: { type: 'string', nulls: 'last' } },
  shardOn: 'pair',
})

/** Added, dropped and added again while everything is going on. */
export const byGroupAndRank = defineIndex('by_group_and_rank', {
  properties: { group: 'string', rank: 'integer' },
  shardOn: 'id',
})

/** The same under the same name, defined in another way. */
export const byGroupAndRankElsewhere = defineIndex('by_group_and_rank', {
  properties: { group: 'string', rank: 'integer' },
  shardOn: 'group',
})

/** Several keys per entity, on both shards, which entities take from one another. */
export const byName = defineIndex('by_name', {
  properties: { names: 'string[]' },
  shardOn: 'names',
  unique: true,
  include: ['rank'],
})

/** Added, dropped and added again over entities that have the same keys. */
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

/** The keys of an entity in a unique index, by the index's name. */
export function keysIn(index: string, bag: Bag): readonly unknown[] {
  if (index === byName.name) return bag['names'] as readonly unknown[]
  return bag['seat'] === null ? [] : [bag['seat']]
}

export const NAMES = ['ada', 'bob', 'cyd', 'dan', 'eve', 'fay'] as const
export const SEATS = 5
export const TAGS = ['red', 'green', 'blue', 'grey'] as const
export const GROUPS = ['north', 'south', 'east'] as const
/** On one shard and the other in turn: a test sees to it. */
export const RANKS = [9, 10, 11, 12] as const
