import { startServers, type RunningServers } from '@looseleaf-tooling/mariadb'
import { mysqlShards } from '@looseleaf/driver-mysql'
import { defineIndex } from '@looseleaf/index-engine'
import { DataStore } from '@looseleaf/store'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { runInside } from './run-command.ts'

const byLink = defineIndex('by_link', { properties: { link: 'string' }, shardOn: 'link' })
/** Enough links that each shard has index rows of entities on both shards. */
const LINKS = Array.from({ length: 40 }, (_, n) => `link-${n}`)

let servers: RunningServers
const stores: DataStore[] = []

beforeAll(async () => {
  servers = await startServers(2, { database: 'feed', inMemory: true })
  const store = await DataStore.open({ shards: mysqlShards(servers.urls), indexes: [byLink], migrate: true })
  for (const link of LINKS) await store.put({ link })
  await store.close()
})
afterEach(async () => {
  for (const pid of servers.pids) process.kill(pid, 'SIGCONT')
  await Promise.all(stores.splice(0).map((store) => store.close()))
})
afterAll(() => servers?.stop())

async function open(urls: readonly string[]): Promise<{ store: DataStore; warnings: string[] }> {
  const warnings: string[] = []
  const store = await DataStore.open({
    shards: mysqlShards(urls, { connectTimeoutMs: 2_000 }),
    onWarning: (warning) => warnings.push(warning),
  })
  stores.push(store)
  return { store, warnings }
}

const nameOf = (url: string): string => new URL(url).host + new URL(url).pathname

/** Queries each link. Returns the link that was found, or the name of the shard that failed. */
async function answersOf(store: DataStore): Promise<string[]> {
  const ends = LINKS.map(async (link) => {
    try {
      const { items } = await store.query(byLink, { link })
      return items.map((item) => item.link).join()
    } catch (error) {
      expect(error).toMatchObject({ code: 'SHARD_UNAVAILABLE', retryable: true })
      return (error as { shard: string }).shard
    }
  })
  return Promise.all(ends)
}

async function untilWhole(store: DataStore): Promise<void> {
  while ((await answersOf(store)).join() !== LINKS.join());
}

test.each([0, 1])(
  'a process that starts while server %i is frozen serves the other shard, and both after it thaws',
  async (frozen) => {
    process.kill(servers.pids[frozen]!, 'SIGSTOP')
    const { store, warnings } = await open(servers.urls)
    const name = nameOf(servers.urls[frozen]!)
    expect(warnings.filter((warning) => warning.includes(name))).toHaveLength(1)

    const answers = await answersOf(store)
    expect(new Set(answers.filter((answer) => !LINKS.includes(answer)))).toEqual(new Set([name]))
    expect(answers.some((answer) => LINKS.includes(answer))).toBe(true)

    const shardsOption = ['--shards', servers.urls.join(',')]
    const [status, text, init, top, looks] = await Promise.all([
      runInside(['status', '--json', ...shardsOption]),
      runInside(['status', ...shardsOption]),
      runInside(['init', ...shardsOption]),
      runInside(['top', '--looks', '1', ...shardsOption]),
      runInside(['top', '--looks', '1', '--json', ...shardsOption]),
    ])
    expect([status.code, text.code, init.code]).toEqual([3, 3, 3])
    const { shards } = status.json<{
      shards: { error: { code: string } | null; entities: number | null }[]
    }>()
    expect(shards[frozen]).toMatchObject({ name, error: { code: 'SHARD_UNAVAILABLE' }, entities: null })
    expect(shards[1 - frozen]).toMatchObject({ error: null, entities: expect.any(Number) })
    expect(text.stdout).toContain(`Error: ${name}: SHARD_UNAVAILABLE`)
    expect(init.stderr).toContain('Nothing was done: init needs every shard.')
    // An unknown count is null and not 0: for the silent shard, and for both if shard 0, which stores the report, is silent.
    const unknown = frozen === 0 ? [null, null] : [0, null]
    const looked = looks.json<{
      grade: string
      shards: { answersInMs: number | null; pending: number | null }[]
    }>()
    expect(looked.grade).toBe('act')
    expect(looked.shards.map(({ pending }) => pending)).toEqual(unknown)
    expect(looked.shards[1 - frozen]!.answersInMs).toBeGreaterThan(0)
    expect(top.stdout).toMatch(new RegExp(`^${name} .*SHARD_UNAVAILABLE .* \\?$`, 'm'))

    process.kill(servers.pids[frozen]!, 'SIGCONT')
    await untilWhole(store)
    for (const link of LINKS) await store.put({ link: `${link}${link}` })
    expect((await store.status()).shards.every(({ error }) => error === undefined)).toBe(true)
  },
)

test('a server that refuses the user or has no such database is no outage', async () => {
  const url = new URL(servers.urls[1]!)
  url.pathname = '/no_such_database'
  await expect(open([servers.urls[0]!, url.href])).rejects.toMatchObject({ code: 'SHARD_DENIED' })
})

test('a store cannot be opened while all servers are frozen', async () => {
  for (const pid of servers.pids) process.kill(pid, 'SIGSTOP')
  await expect(open(servers.urls)).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE' })
})
