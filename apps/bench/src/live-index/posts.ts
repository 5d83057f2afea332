import { deriveId, defineIndex, type Bag, type IndexDefinition } from 'looseleaf'

/** The posts of a site, told by their numbers: who knows a number knows the id, and what was first stored. */
export interface Post extends Bag {
  user_id: string
  published: Date
  title: string
  handle: string
  tags: string[]
  text: string
}

const USERS = 10_000
const TAGS = 2_000
const words =
  'The A New Of On and in Launch photo Feed paper Road city Summer index Shard garden Coffee talk Team keynote River how why'.split(
    ' ',
  )
const LATEST = Date.UTC(2026, 0, 1)

export const postId = (number: number): string => deriveId('post', number)
export const userId = (number: number): string => deriveId('user', number % USERS)

/** Numbers of two posts that have one handle. They are left alone while indexes are added. */
export const twinOf = (number: number, posts: number): number => posts - 1 - number

/** A post as it is first stored (`edit` 0), or as its edit of this number leaves it: other title, tags and handle. */
export function createPost(number: number, edit = 0, handleOf = number): Post {
  const spread = (salt: number, below: number): number =>
    ((number * 2_654_435_761 + (salt + 31 * edit) * 40_503) >>> 0) % below
  const text = (salt: number, length: number): string =>
    Array.from({ length }, (_, i) => words[spread(salt + i * 7, words.length)]).join(' ')
  return {
    user_id: userId(number),
    published: new Date(LATEST - spread(1, 365 * 86_400) * 1000),
    title: `${text(2, 3 + spread(3, 6))} ${number}`,
    handle: edit === 0 ? `post-${handleOf}` : `post-${number}-${edit}`,
    tags: [...new Set(Array.from({ length: 1 + spread(4, 3) }, (_, i) => `tag ${spread(50 + i, TAGS)}`))],
    text: text(100, 20 + spread(5, 40)),
  }
}

/** There from the start, for the pages that the load reads. */
export const postsByUser: IndexDefinition<{ readonly user_id: 'uuid'; readonly published: 'time' }> =
  defineIndex('posts_by_user', { properties: { user_id: 'uuid', published: 'time' }, shardOn: 'user_id' })

const postsByTag = defineIndex('posts_by_tag', { properties: { tags: 'string[]' }, shardOn: 'tags' })
const postsByTitle = defineIndex('posts_by_title', {
  properties: { title: { type: 'string', key: 'lower' } },
  shardOn: 'title',
})
const postsByHandle = defineIndex('posts_by_handle', {
  properties: { handle: 'string' },
  shardOn: 'handle',
  unique: true,
})

/** Added while the load goes on: one of many values, one derived, one unique. */
export const addedIndexes: readonly IndexDefinition[] = [postsByTag, postsByTitle, postsByHandle]

/** What has to stand in the tables of `addedIndexes`, worked out here anew and not by the store. */
export const expectedKeys: Readonly<
  Record<string, { readonly column: string; keys(post: Bag): readonly string[] }>
> = {
  index_posts_by_tag: { column: 'tags', keys: ({ tags }) => tags as string[] },
  index_posts_by_title: { column: 'title', keys: ({ title }) => [(title as string).toLowerCase()] },
  index_posts_by_handle: { column: 'handle', keys: ({ handle }) => [handle as string] },
  claims_posts_by_handle: { column: 'handle', keys: ({ handle }) => [handle as string] },
}
