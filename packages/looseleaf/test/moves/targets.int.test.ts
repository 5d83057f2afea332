import type { Time } from '@looseleaf/core'
import { fastTime } from '@looseleaf-tooling/kit/times'
import { findServer, startServers } from '@looseleaf-tooling/mariadb'
import { createLimitedUser, sendStatement } from '@looseleaf-tooling/vitest/limited-user'
import { freshShards } from '@looseleaf-tooling/vitest/mariadb'
import { DataStore, mysqlShards } from 'looseleaf'
import { expect, onTestFinished, test } from 'vitest'

const PLAN = { from: 0, to: 1, buckets: '0-9' }

async function storeWith(urls: readonly string[], time?: Time): Promise<DataStore> {
  const store = await DataStore.open({ shards: mysqlShards([...urls]), time, onWarning: () => {} })
  onTestFinished(() => store.close())
  return store
}

const RIGHTS = ['INSERT', 'UPDATE', 'DELETE']

test.each(RIGHTS)(
  'a plan finds a target that lacks the right %s, and a move to it announces nothing',
  async (right) => {
    const { urls } = await freshShards(2)
    const admin = await DataStore.open({ shards: mysqlShards(urls), migrate: true })
    onTestFinished(() => admin.close())
    const user = await createLimitedUser(
      urls[1]!,
      ['SELECT', ...RIGHTS.filter((other) => other !== right)].join(', '),
    )
    onTestFinished(() => user.drop())
    const store = await storeWith([urls[0]!, user.url])
    const { problems } = await store.shards.plan(PLAN)
    expect(problems).toEqual([
      expect.stringMatching(new RegExp(`^Shard 1 would refuse the copies: .*${right}`)),
    ])
    await expect(store.shards.move(PLAN)).rejects.toMatchObject({ code: 'SHARD_DENIED' })
    expect(await admin.shards.moves()).toEqual([])
  },
)

test('a plan finds a target that is read-only, and a move to it announces nothing', async () => {
  // The setting is that of a server, so other test files need another one.
  const server = await startServers(1, { database: 'store', inMemory: true })
  onTestFinished(() => server.stop())
  const urls = [...(await freshShards(1)).urls, ...server.urls]
  const admin = await DataStore.open({ shards: mysqlShards(urls), migrate: true })
  onTestFinished(() => admin.close())
  const user = await createLimitedUser(urls[1]!, 'SELECT, INSERT, UPDATE, DELETE')
  onTestFinished(() => user.drop())
  const store = await storeWith([urls[0]!, user.url], fastTime(10))
  await sendStatement(urls[1]!, 'SET GLOBAL read_only = ON')
  const { problems } = await store.shards.plan(PLAN)
  expect(problems).toEqual([expect.stringMatching(/^Shard 1 would refuse the copies: .*read-only/)])
  await expect(store.shards.move(PLAN)).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE' })
  expect(await admin.shards.moves()).toEqual([])
})

test('a plan warns of a target whose server is too old', async ({ skip }) => {
  skip(findServer()?.flavor !== 'mariadb', 'MySQL cannot be told to give another version')
  const { urls } = await freshShards(1)
  const old = await startServers(1, {
    database: 'store',
    inMemory: true,
    serverArguments: ['--version=10.5.1-MariaDB'],
  })
  onTestFinished(() => old.stop())
  const store = await DataStore.open({
    shards: mysqlShards([urls[0]!, old.urls[0]!]),
    migrate: true,
    onWarning: () => {},
  })
  onTestFinished(() => store.close())
  const { problems, warnings } = await store.shards.plan(PLAN)
  expect(problems).toEqual([])
  expect(warnings).toContainEqual(expect.stringMatching(/^Shard 1: .*MariaDB 10\.5/))
})
