import { defineIndex } from '@looseleaf/index-engine'

/** One row per tag, on the shard of the tag: a write adds and removes rows on all shards. */
export const byTag = defineIndex('by_tag', { properties: { tags: 'string[]' }, shardOn: 'tags' })

/** One row per entity, which moves between shards. */
export const byGroup = defineIndex('by_group', { properties: { group: 'string' }, shardOn: 'group' })
