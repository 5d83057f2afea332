import { memoryShards } from '@looseleaf/driver-sqlite'
import { changed } from '@looseleaf-tooling/kit/changed-driver'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, test, vi } from 'vitest'
import { contentsOf, filledStore, openStore } from '../stores.ts'
import { Consumed } from './consumed.ts'
import { PLAN } from './moving.ts'

const SOON = { timeout: 20_000, interval: 10 }

test('a plan warns of consumers that are more than a minute behind on the source', async () => {
  const driver = await memoryShards(2).connect()
  const store = await filledStore(driver, 40)
  const consumed = new Consumed()
  const handling = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  consumed.onChange = () => {
    begun.resolve()
    return handling.promise
  }
  const consumer = consumed.start(await openStore(driver))
  await begun.promise
  const lags = async (plan: typeof store): Promise<readonly string[]> =>
    (await plan.shards.plan(PLAN)).warnings.filter((warning) => warning.startsWith('Consumer'))
  expect(await lags(store)).toEqual([])
  const later = await openStore(
    changed(driver, {
      shard: (shard) => ({ now: async (options) => (await shard.now(options)) + 300_000_000 }),
    }),
    leapingTime(),
  )
  expect(await lags(later)).toEqual([
    expect.stringMatching(
      /^Consumer search is 3\d\d seconds behind on shard 0, which keeps what it gives up/,
    ),
  ])
  handling.resolve()
  await consumer.stop()
})

test('a drain names the moves that wait for a consumer, and ends once the consumer has handled its changes', async () => {
  const driver = await memoryShards(3).connect()
  const store = await filledStore(driver, 60)
  const before = await contentsOf(store)
  const consumed = new Consumed()
  let refused = 0
  consumed.onChange = () => {
    refused++
    throw new Error('The handler refuses (a fault on purpose).')
  }
  const consumer = consumed.start(await openStore(driver))
  await vi.waitFor(() => expect(refused).toBeGreaterThan(10), SOON)
  await consumer.stop()
  expect((await store.shards.plan(PLAN)).warnings).toContainEqual(
    expect.stringMatching(/^Consumer search has \d+ failing changes on shard 0, which keeps/),
  )
  expect(await store.shards.move({ from: 1, to: 2, buckets: '1400-1800' })).toMatchObject({
    state: 'emptying',
  })
  await expect(store.shards.drain(2)).rejects.toMatchObject({
    code: 'CONFLICT',
    message: expect.stringMatching(
      /^Shard 2 still has 401 buckets of moves that are not over \(\d+, \d+, \d+\)\./,
    ),
  })
  consumed.onChange = () => {}
  await using _ = consumed.start(await openStore(driver))
  await vi.waitFor(() => store.shards.drain(2), { timeout: 30_000, interval: 50 })
  expect((await store.shards.list())[2]).toMatchObject({ state: 'draining', buckets: 0 })
  expect(await contentsOf(await openStore(driver))).toEqual(before)
}, 60_000)
