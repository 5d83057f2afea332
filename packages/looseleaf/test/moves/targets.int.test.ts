import { createLimitedUser, sendStatement } from '@looseleaf-tooling/vitest/limited-user'
import { freshShards } from '@looseleaf-tooling/vitest/mariadb'
import { DataStore, mysqlShards } from 'looseleaf'
import { expect, onTestFinished, test } from 'vitest'

const PLAN = { from: 0, to: 1, buckets: '0-9' }

async function storeWith(urls: readonly string[]): Promise<DataStore> {
  const store = await DataStore.open({ shards: mysqlShards([...urls]), onWarning: () => {} })
  onTestFinished(() => store.close())
  return store
}

test('a plan finds a target that lacks a right, and a move to it announces nothing', async () => {
  const { urls } = await freshShards(2)
  const admin = await DataStore.open({ shards: mysqlShards(urls), migrate: true })
  onTestFinished(() => admin.close())
  const user = await createLimitedUser(urls[1]!, 'SELECT, INSERT, UPDATE')
  onTestFinished(() => user.drop())
  const store = await storeWith([urls[0]!, user.url])
  const { problems } = await store.shards.plan(PLAN)
  expect(problems).toEqual([expect.stringMatching(/^Shard 1 would refuse the copies: .*DELETE/)])
  await expect(store.shards.move(PLAN)).rejects.toMatchObject({ code: 'SHARD_DENIED' })
  expect(await admin.shards.moves()).toEqual([])
})

test('a plan finds a target that is read-only', async () => {
  const { urls } = await freshShards(2)
  const admin = await DataStore.open({ shards: mysqlShards(urls), migrate: true })
  onTestFinished(() => admin.close())
  const user = await createLimitedUser(urls[1]!, 'SELECT, INSERT, UPDATE, DELETE')
  onTestFinished(() => user.drop())
  const store = await storeWith([urls[0]!, user.url])
  await sendStatement(urls[1]!, 'SET GLOBAL read_only = ON')
  onTestFinished(() => sendStatement(urls[1]!, 'SET GLOBAL read_only = OFF'))
  const { problems } = await store.shards.plan(PLAN)
  expect(problems).toEqual([expect.stringMatching(/^Shard 1 would refuse the copies: .*read-only/)])
})
