import { defineIndex } from '@looseleaf/index-engine'

/** A row per tag, each on the shard of its tag: a write gains and loses several rows on both shards. */
export const byTag = defineIndex('by_tag', { properties: { tags: 'string[]' }, shardOn: 'tags' })

/** One row per entity, moving between two shards. */
export const byGroup = defineIndex('by_group', { properties: { group: 'string' }, shardOn: 'group' })

/** Added while everything is going on. */
export const byGroupAndRank = defineIndex('by_group_and_rank', {
  properties: { group: 'string', rank: 'integer' },
  shardOn: 'id',
})

export const TAGS = ['red', 'green', 'blue', 'grey'] as const
export const GROUPS = ['north', 'south', 'east'] as const
