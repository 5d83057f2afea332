import type { Bag } from '@looseleaf/core'
import type { IndexDefinition } from '@looseleaf/index-engine'
import { deriveRows, placementOfRouter, shardOfRow } from '@looseleaf/index-engine/internal'
import { byGroup, byTag } from '@looseleaf-tooling/simulation/by-tag-and-group'
import { expect, it } from 'vitest'
import { byPair, byRank, GROUPS, RANKS, TAGS } from '../shapes/indexes.ts'
import { smallRouter } from './small-router.ts'
import { SHARDS } from './world.ts'

const placement = placementOfRouter(smallRouter(SHARDS))

/** Returns the shards of these entities' rows, in order. */
function shardsOf(index: unknown, bags: readonly Bag[]): number[] {
  const definition = index as IndexDefinition
  return bags.map((bag) => {
    const [key] = deriveRows(definition, bag).keys
    return shardOfRow(definition, placement, key!, new Uint8Array(16))
  })
}

it.each([
  ['by_tag', byTag, TAGS.map((tag) => ({ tags: [tag] })), [1, 1, 0, 0]],
  ['by_group', byGroup, GROUPS.map((group) => ({ group })), [1, 0, 0]],
  // Alternating shards, so that a range covers several of them.
  ['by_rank', byRank, RANKS.map((rank) => ({ rank })), [0, 1, 0, 1]],
  ['by_pair', byPair, RANKS.map((rank) => ({ rank, open: true })), [1, 0, 0, 0]],
])('%s has rows on every shard', (_, index, bags, shards) => {
  expect(shardsOf(index, bags)).toEqual(shards)
  expect(new Set(shards).size).toBe(SHARDS)
})
