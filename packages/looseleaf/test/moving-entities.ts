import { defineIndex } from 'looseleaf'

/** More than the ranges that one statement reads. */
export const PLACES = 20
export const RANKS = 1_000

export const byPlace = defineIndex('by_place', { properties: { place: 'integer' }, shardOn: 'id' })
export const byList = defineIndex('by_list', {
  properties: { list: 'string', rank: 'integer' },
  shardOn: 'id',
})
export const byTag = defineIndex('by_tag', { properties: { tag: 'string', rank: 'integer' }, shardOn: 'id' })
