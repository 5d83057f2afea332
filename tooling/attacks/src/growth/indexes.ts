import { defineIndex } from '@looseleaf/index-engine'

/** Some entities share a group, which never changes. */
export const byGroup = defineIndex('by_group', {
  properties: { group: 'string', state: 'integer' },
  shardOn: 'group',
})
/** An array: one tag never changes, and one changes with every state. */
export const byTag = defineIndex('by_tag', { properties: { tags: 'string[]' }, shardOn: 'tags' })
/** Rows stand on the shard of their entity, so each query scatters. */
export const bySlot = defineIndex('by_slot', {
  properties: { slot: 'integer', state: 'integer' },
  shardOn: 'id',
})
/** Covering. The key moves between three values. */
export const byPlace = defineIndex('by_place', {
  properties: { place: 'string', state: 'integer' },
  shardOn: 'place',
  include: ['number', 'title'],
})
/** Partial: some states have no row. */
export const byPage = defineIndex('by_page', {
  properties: { group: 'string', state: 'integer' },
  shardOn: 'group',
  on: { kind: 'page' },
})
/** Unique: entities of different writers want the same names. */
export const byName = defineIndex('by_name', {
  properties: { name: 'string' },
  shardOn: 'name',
  unique: true,
})

export const growthIndexes = [byGroup, byTag, bySlot, byPlace, byPage, byName] as const
