import { deriveId, defineIndex, type Bag, type IndexDefinition } from 'looseleaf'

/** A post of a site. Its number determines its id and its first content. */
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

/** Returns the number of the post that may share this post's handle. The load does not change such pairs. */
export const twinOf = (number: number, posts: number): number => posts - 1 - number

/** Returns a post as it is first stored (`edit` 0), or after the edit of this number, which changes title, tags, text and handle. */
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

/** Index that exists from the start, for the pages that the load reads. */
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

/** Indexes that are added under load: one over an array, one with a key function, one unique. */
export const addedIndexes: readonly IndexDefinition[] = [postsByTag, postsByTitle, postsByHandle]

/** Expected keys in each table of `addedIndexes`, computed without the store's own code. */
export const expectedKeys: Readonly<
  Record<string, { readonly column: string; keys(post: Bag): readonly string[] }>
> = {
  index_posts_by_tag: { column: 'tags', keys: ({ tags }) => tags as string[] },
  index_posts_by_title: { column: 'title', keys: ({ title }) => [(title as string).toLowerCase()] },
  index_posts_by_handle: { column: 'handle', keys: ({ handle }) => [handle as string] },
  claims_posts_by_handle: { column: 'handle', keys: ({ handle }) => [handle as string] },
}
