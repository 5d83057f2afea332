import { defineIndex } from '@looseleaf/index-engine'

/** A row per tag, each on the shard of its tag: a write gains and loses several rows on all shards. */
export const byTag = defineIndex('by_tag', { properties: { tags: 'string[]' }, shardOn: 'tags' })

/** One row per entity, which moves between the shards. */
export const byGroup = defineIndex('by_group', { properties: { group: 'string' }, shardOn: 'group' })
