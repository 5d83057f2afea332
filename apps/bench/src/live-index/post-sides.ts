import { DataStore, mysqlShards } from 'looseleaf'
import { createPool, type Pool } from 'mysql2/promise'
import { jsonShardOf } from '../sides/json-side.ts'
import type { LoadConfig } from './load-types.ts'
import { postsByUser, type Post } from './posts.ts'

/** The calls of the load, on a store or on tables with a JSON column. */
export interface PostSide {
  get(id: string): Promise<unknown>
  /** Reads a user's newest 20 posts. */
  page(user: string): Promise<unknown>
  update(id: string, post: Post): Promise<unknown>
  put(id: string, post: Post): Promise<unknown>
  close(): Promise<void>
}

export const PAGE = 20

export function openPosts({ side, urls }: Pick<LoadConfig, 'side' | 'urls'>): Promise<PostSide> {
  return side === 'looseleaf' ? openStorePosts(urls) : Promise.resolve(openJsonPosts(urls))
}

async function openStorePosts(urls: readonly string[]): Promise<PostSide> {
  const store = await DataStore.open({ shards: mysqlShards(urls), indexes: [postsByUser] })
  return {
    get: (id) => store.get(id),
    page: (user) => store.query(postsByUser, { user_id: user }, { order: 'desc', limit: PAGE }),
    update: (id, post) => store.update(id, (bag) => ({ ...bag, ...post })),
    put: (id, post) => store.insert(post, { id }),
    close: () => store.close(),
  }
}

/**
 * Calls the tables of `fillJsonTables`, one per shard. All posts of a user are on one shard, so a page takes one statement. A get
 * knows only the id, so it asks all shards.
 */
function openJsonPosts(urls: readonly string[]): PostSide {
  const pools: Pool[] = urls.map((uri) => createPool({ uri, connectionLimit: 32 }))
  const all = (sql: string, values: string[]): Promise<unknown> =>
    Promise.all(pools.map((pool) => pool.execute(sql, values)))
  const poolOf = (user: string): Pool => pools[jsonShardOf(user, pools.length)] as Pool
  return {
    get: (id) => all('SELECT body FROM posts WHERE id = UNHEX(?)', [hex(id)]),
    page: (user) =>
      poolOf(user).execute(`SELECT body FROM posts WHERE user_id = ? ORDER BY published DESC LIMIT ${PAGE}`, [
        user,
      ]),
    update: (id, post) =>
      poolOf(post.user_id).execute('UPDATE posts SET body = ? WHERE id = UNHEX(?)', [
        JSON.stringify(post),
        hex(id),
      ]),
    put: (id, post) =>
      poolOf(post.user_id).execute('INSERT INTO posts (id, body) VALUES (UNHEX(?), ?)', [
        hex(id),
        JSON.stringify(post),
      ]),
    close: async () => void (await Promise.all(pools.map((pool) => pool.end()))),
  }
}

export const hex = (id: string): string => id.replaceAll('-', '')
