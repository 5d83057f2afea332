import { defineIndex } from 'looseleaf'

/*
 * An index has a row only for entities that carry all of its properties. So the names of the properties decide who is
 * in it: entries alone are `published`, comments `commented`, likes `liked`, people `joined`,
 * sources `added` and sessions `signed_in`.
 */

/**
 * The home page, newest first. No single shard could take every new entry of a busy site, so a row lives with its entry
 * (`shardOn: 'id'`) and the page asks all shards and merges.
 */
export const entriesByTime = defineIndex('entries_by_time', {
  properties: { kind: 'string', published: 'time' },
  shardOn: 'id',
})

/** A person's page: one shard holds all rows of a person. */
export const entriesByUser = defineIndex('entries_by_user', {
  properties: { user_id: 'uuid', published: 'time' },
  shardOn: 'user_id',
})

export const entriesBySource = defineIndex('entries_by_source', {
  properties: { source_id: 'uuid', published: 'time' },
  shardOn: 'source_id',
})

/** Who else shared this link. */
export const entriesByLink = defineIndex('entries_by_link', {
  properties: { link: 'string', published: 'time' },
  shardOn: 'link',
})

export const commentsByEntry = defineIndex('comments_by_entry', {
  properties: { entry_id: 'uuid', commented: 'time' },
  shardOn: 'entry_id',
})

export const commentsByUser = defineIndex('comments_by_user', {
  properties: { user_id: 'uuid', commented: 'time' },
  shardOn: 'user_id',
})

export const likesByEntry = defineIndex('likes_by_entry', {
  properties: { entry_id: 'uuid', liked: 'time' },
  shardOn: 'entry_id',
})

export const likesByUser = defineIndex('likes_by_user', {
  properties: { user_id: 'uuid', liked: 'time' },
  shardOn: 'user_id',
})

/** Sign-in and the addresses of people. */
export const peopleByName = defineIndex('people_by_name', {
  properties: { name: 'string' },
  shardOn: 'name',
})

/** The list of everybody, oldest member first. */
export const peopleByTime = defineIndex('people_by_time', {
  properties: { kind: 'string', joined: 'time' },
  shardOn: 'id',
})

export const sourcesByTime = defineIndex('sources_by_time', {
  properties: { kind: 'string', added: 'time' },
  shardOn: 'id',
})

export const sourcesByUser = defineIndex('sources_by_user', {
  properties: { user_id: 'uuid', added: 'time' },
  shardOn: 'user_id',
})

/** The source that a feed belongs to, by any of its names: a row for each of them. */
export const sourcesByName = defineIndex('sources_by_name', {
  properties: { known_as: 'string[]' },
  shardOn: 'known_as',
})

export const importsByUser = defineIndex('imports_by_user', {
  properties: { user_id: 'uuid', imported: 'time' },
  shardOn: 'user_id',
})

/** What an import has brought: entries and sources. */
export const broughtByImport = defineIndex('brought_by_import', {
  properties: { import_id: 'uuid' },
  shardOn: 'import_id',
})

/** Who is signed in, and since when: to find sessions that are over. */
export const sessionsByUser = defineIndex('sessions_by_user', {
  properties: { user_id: 'uuid', signed_in: 'time' },
  shardOn: 'user_id',
})

export const siteIndexes = [
  entriesByTime,
  entriesByUser,
  entriesBySource,
  entriesByLink,
  commentsByEntry,
  commentsByUser,
  likesByEntry,
  likesByUser,
  peopleByName,
  peopleByTime,
  sourcesByTime,
  sourcesByUser,
  sourcesByName,
  importsByUser,
  broughtByImport,
  sessionsByUser,
]
