import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { DataStore, defineKind, indexesOf, sqliteShards, typed } from '../src/index.ts'

const Post = defineKind('post', {
  schema: typed<{ user: string; n: number }>(),
  indexes: {
    byUser: { by: [{ user: 'string' }, { n: 'integer' }] },
    byRank: { by: [{ n: 'integer' }], shardOn: 'id' },
  },
})
const skip = { onUnavailable: 'skip' } as const
const POSTS = 30

let folder: string
let store: DataStore

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'looseleaf-missing-'))
  store = await DataStore.open({
    shards: sqliteShards({ folder, shards: 2, durability: 'normal' }),
    indexes: indexesOf(Post),
    migrate: true,
    onWarning: () => {},
  })
})
afterEach(async () => {
  await store.close()
  rmSync(folder, { recursive: true })
})

/** Moves the files of shard 1 out of their folder, or back. */
function moveFiles(from: string, to: string): void {
  for (const file of readdirSync(from))
    if (file.startsWith('shard-1.')) renameSync(join(from, file), join(to, file))
}

test('reads of a kind leave out a SQLite file that is gone, and have its items when it is back', async () => {
  const posts = Post.in(store)
  const values = Array.from({ length: POSTS }, (_, n) => ({ user: `user ${n % 3}`, n }))
  const ids = (await posts.insertMany(values)).map(({ id }) => id)
  const aside = join(folder, 'aside')
  mkdirSync(aside)
  moveFiles(folder, aside)
  // Reads look once a second whether the file is there.
  let found = await posts.getMany(ids, skip)
  while (found.complete) found = await posts.getMany(ids, skip)
  expect(found.missingShards).toEqual(['shard-1.sqlite'])
  const left = found.items.filter((item) => item !== undefined).map(({ n }) => n)
  expect(left.length + found.unread.length).toBe(POSTS)
  expect(found.unread).toEqual(ids.filter((_, n) => !left.includes(n)))

  const page = await posts.byRank.page({}, { scatter: true, ...skip })
  expect(page.items.map(({ n }) => n)).toEqual(left)
  expect(page.cost).toMatchObject({ complete: false, missingShards: ['shard-1.sqlite'] })
  const counted = await posts.byRank.count({}, { scatter: true, ...skip })
  expect(counted).toEqual({ count: left.length, complete: false, missingShards: ['shard-1.sqlite'] })
  await expect(posts.byRank.count({}, { scatter: true })).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE' })
  const where = { user: 'user 1' }
  await expect(Array.fromAsync(posts.byUser.each(where, skip as never))).rejects.toThrow(
    /each has no option "onUnavailable"/,
  )
  await expect(posts.byUser.deleteWhere(where, skip as never)).rejects.toThrow(
    /deleteWhere has no option "onUnavailable"/,
  )

  moveFiles(aside, folder)
  expect(await posts.getMany(ids, skip)).toMatchObject({ unread: [], complete: true, missingShards: [] })
})
