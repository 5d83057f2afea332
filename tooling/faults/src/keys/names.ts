import { defineIndex } from '@looseleaf/index-engine'

/** The index over whose keys entities fight. */
export const byName = defineIndex('by_name', {
  properties: { name: 'string' },
  shardOn: 'name',
  unique: true,
})
