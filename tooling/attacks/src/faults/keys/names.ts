import { defineIndex } from '@looseleaf/index-engine'

/** The unique index whose keys are fought over. */
export const byName = defineIndex('by_name', {
  properties: { name: 'string' },
  shardOn: 'name',
  unique: true,
})
