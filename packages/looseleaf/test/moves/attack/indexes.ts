import { defineIndex } from '@looseleaf/index-engine'

/** One row per entity; its second property changes with every write. */
export const byUser = defineIndex('by_user', {
  properties: { user: 'string', n: 'integer' },
  shardOn: 'user',
})
/** Many rows per entity, some of which change with every write. */
export const byTag = defineIndex('by_tag', { properties: { tags: 'string[]' }, shardOn: 'tags' })
/** Rows on the entity's shard. */
export const bySlot = defineIndex('by_slot', {
  properties: { slot: 'integer', n: 'integer' },
  shardOn: 'id',
})
/** Covering. */
export const byGroup = defineIndex('by_group', {
  properties: { group: 'string', n: 'integer' },
  shardOn: 'group',
  include: ['title'],
})
/** Partial. */
export const pages = defineIndex('pages', {
  properties: { user: 'string', n: 'integer' },
  shardOn: 'user',
  on: { kind: 'page' },
})
/** The key of an entity never changes. */
export const byCode = defineIndex('by_code', {
  properties: { code: 'string' },
  shardOn: 'code',
  unique: true,
})
/** Keys change hands. */
export const byName = defineIndex('by_name', {
  properties: { name: 'string' },
  shardOn: 'name',
  unique: true,
})
export const attackedIndexes = [byUser, byTag, bySlot, byGroup, pages, byCode, byName]

export const USERS = 5
export const TAGS = 7
export const SLOTS = 3
export const GROUPS = 4
/** Names that all writers want. */
export const WANTED = 6

/** Indexes that are added while buckets move, one for each move. */
export const lateIndexes = [
  [
    defineIndex('late_tags', { properties: { tags: 'string[]', n: 'integer' }, shardOn: 'tags' }),
    defineIndex('late_codes', { properties: { code: 'string' }, shardOn: 'code', unique: true }),
  ],
  [
    defineIndex('late_slots', { properties: { slot: 'integer', n: 'integer' }, shardOn: 'id' }),
    defineIndex('late_users', { properties: { user: 'string' }, shardOn: 'user', include: ['title'] }),
  ],
]
