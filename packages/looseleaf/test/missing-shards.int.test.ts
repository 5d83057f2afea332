import { isDeepStrictEqual } from 'node:util'
import { startServers, type RunningServers } from '@looseleaf-tooling/mariadb'
import { DataStore, defineKind, indexesOf, mysqlShards, typed } from 'looseleaf'
import { afterEach, beforeEach, expect, test } from 'vitest'

interface PostValue {
  readonly user: string
  readonly n: number
  readonly tags: readonly string[]
}

const Post = defineKind('post', {
  schema: typed<PostValue>(),
  indexes: {
    byUser: { by: [{ user: 'string' }, { n: 'integer' }] },
    byRank: { by: [{ n: 'integer' }], shardOn: 'id' },
    byTag: { by: [{ tags: 'string[]' }, { n: 'integer' }], shardOn: 'id' },
  },
})
const skip = { onUnavailable: 'skip' } as const
const POSTS = 40

let servers: RunningServers
let store: DataStore
let posts: ReturnType<typeof Post.in>
let ids: readonly string[]
let lost: string

beforeEach(async () => {
  servers = await startServers(2, { database: 'feed', inMemory: true })
  lost = new URL(servers.urls[1]!).host + new URL(servers.urls[1]!).pathname
  store = await DataStore.open({
    shards: mysqlShards(servers.urls),
    indexes: indexesOf(Post),
    migrate: true,
    onWarning: () => {},
  })
  posts = Post.in(store)
  const values = Array.from({ length: POSTS }, (_, n) => ({ user: `user ${n % 8}`, n, tags: ['a', 'b'] }))
  ids = (await posts.insertMany(values)).map(({ id }) => id)
})
afterEach(async () => {
  // A frozen server would keep the store from closing until its deadline.
  for (const pid of servers.pids) {
    try {
      process.kill(pid, 'SIGCONT')
    } catch {
      // The test has killed it.
    }
  }
  await store.close()
  await servers.stop()
})

/**
 * Reads as the pages of a site do. Returns the shards that are missing, by call. In a steady state all calls have the same posts; a server that
 * has just got its signal may still answer some of them.
 */
async function readSite(isSteady: boolean): Promise<Record<string, readonly string[] | undefined>> {
  const users = Array.from({ length: 8 }, (_, user) => ({ user: `user ${user}` }))
  const tags = ['a', 'b'].map((tag) => ({ index: posts.byTag.definition, where: { tags: tag } }))
  const [home, own, found, counted, both] = await Promise.all([
    posts.byRank.page({}, { order: 'desc', scatter: true, ...skip }),
    posts.byUser.pageMany(users, { limit: 2, count: true, ...skip }),
    posts.getMany(ids, skip),
    posts.byRank.count({}, { scatter: true, ...skip }),
    store.intersect(tags, { scatter: true, ...skip }),
  ])
  const part = found.items.filter((item) => item !== undefined).map(({ n }) => n)
  expect(found.unread.length + part.length).toBe(POSTS)
  if (isSteady) {
    expect(home.items.map(({ n }) => n)).toEqual(part.toReversed())
    expect(both.items.map(({ n }) => n)).toEqual(part)
    expect(counted.count).toBe(part.length)
  }
  return {
    home: home.cost.missingShards,
    own: own.map(({ cost }) => cost.missingShards).find((missing) => missing !== undefined),
    found: found.missingShards,
    counted: counted.missingShards,
    both: both.cost.missingShards,
  }
}

const whole = { home: undefined, own: undefined, found: [], counted: [], both: undefined }
const partial = (): object => ({ home: [lost], own: [lost], found: [lost], counted: [lost], both: [lost] })

/** Waits until every call lacks the lost shard. Returns the longest time of a round of calls. */
async function untilPartial(): Promise<number> {
  let longest = 0
  for (let missing: object | undefined; !isDeepStrictEqual(missing, partial());) {
    const began = performance.now()
    missing = await readSite(false)
    longest = Math.max(longest, performance.now() - began)
  }
  return longest
}

/** Returns the times of further rounds, in milliseconds. */
async function partialTimes(): Promise<number[]> {
  const times: number[] = []
  while (times.length < 10) {
    const began = performance.now()
    expect(await readSite(true)).toEqual(partial())
    times.push(performance.now() - began)
  }
  return times
}

async function untilWhole(): Promise<void> {
  while (Object.values(await readSite(false)).some((missing) => missing !== undefined && missing.length > 0))
    await new Promise((resolve) => setTimeout(resolve, 50))
}

test('a frozen server costs the reads of a process one short wait, and is read again after it thaws', async () => {
  expect(await readSite(true)).toEqual(whole)
  process.kill(servers.pids[1]!, 'SIGSTOP')
  const first = await untilPartial()
  const others = await partialTimes()
  // A statement has a deadline of 10 seconds, and the first wait takes half a second on a quiet machine.
  expect(first).toBeLessThan(5_000)
  expect(Math.min(...others)).toBeLessThan(300)
  await expect(posts.byRank.page({}, { scatter: true, signal: AbortSignal.timeout(200) })).rejects.toThrow()
  process.kill(servers.pids[1]!, 'SIGCONT')
  await untilWhole()
})

test('a server that is killed is left out at once', async () => {
  expect(await readSite(true)).toEqual(whole)
  process.kill(servers.pids[1]!, 'SIGKILL')
  expect(await untilPartial()).toBeLessThan(5_000)
  expect(Math.min(...(await partialTimes()))).toBeLessThan(300)
  await expect(posts.byRank.count({}, { scatter: true })).rejects.toMatchObject({
    code: 'SHARD_UNAVAILABLE',
    shard: lost,
  })
})
