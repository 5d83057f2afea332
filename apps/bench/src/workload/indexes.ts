import { defineIndex, type IndexDefinition } from 'looseleaf'

/** A user's entries by time. An entry's row stands on its user's shard, mostly another one than the entry's own. */
export const entriesByUser: IndexDefinition<{ readonly user_id: 'uuid'; readonly published: 'time' }> =
  defineIndex('entries_by_user', { properties: { user_id: 'uuid', published: 'time' }, shardOn: 'user_id' })

/** Who shared this link? Written with each entry and read by no scenario: it is the third statement of a put. */
export const entriesByLink: IndexDefinition<{ readonly link: 'string' }> = defineIndex('entries_by_link', {
  properties: { link: 'string' },
  shardOn: 'link',
})
