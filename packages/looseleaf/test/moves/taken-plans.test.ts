import { LooseleafError, type Driver } from '@looseleaf/core'
import type { ShardCatalog } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { changeServes, loadShardCatalog } from '@looseleaf/index-engine/internal'
import { moveBuckets, rebalanceShards, resumeMoves } from '@looseleaf/mover/internal'
import { announceMove } from '@looseleaf/protocol/internal'
import { faultyDriver, type Fault } from '@looseleaf/testkit'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { filledStore, openStore, SOME_BUCKETS } from './stores.ts'

let driver: Driver

beforeEach(async () => {
  driver = await memoryShards(3).connect()
  await (await filledStore(driver, 60)).close()
})
afterEach(() => driver.close())

test.each(['announced', 'moved'])(
  'a rebalance plans anew if another process has %s its buckets before it announces them',
  async (fate) => {
    const store = await openStore(driver, leapingTime())
    await store.shards.move({ from: 2, to: 0, buckets: '2731-4095' })
    const [planned] = (await store.shards.plan('rebalance')).moves
    let isTaken = false
    const take = async (): Promise<void> => {
      const { from, to, buckets } = planned!
      if (fate === 'moved') await moveBuckets(store, { from, to, buckets })
      else await announceMove(store.context, { from, to: 1, buckets: buckets.split('-')[0]! })
    }
    const watched = faultyDriver(driver, ({ operation, args }): Fault | undefined => {
      const { layout } = (operation === 'change' ? args[0] : {}) as Partial<ShardCatalog>
      if (isTaken || (layout?.moves ?? []).length === 0) return undefined
      isTaken = true
      return { before: take }
    })
    const other = await openStore(watched, leapingTime())
    const reports = await rebalanceShards(other.context)
    expect(isTaken).toBe(true)
    expect(reports.every(({ state }) => state === 'done')).toBe(true)
    expect(await store.shards.moves()).toEqual([])
    expect(await store.shards.rebalance()).toEqual([])
  },
)

test('a rebalance and a drain reject with the problems of their plans', async () => {
  const store = await openStore(driver, leapingTime())
  const shard = driver.shards[1]!
  await changeServes(shard, (await loadShardCatalog(shard))!, { owns: '5,1366-2730' })
  for (const call of [() => store.shards.rebalance(), () => store.shards.drain(2)])
    await expect(call()).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringMatching(/^The buckets 5 belong to shard /) as string,
    })
})

test('a rebalance rejects with the error of a shard that refuses the announcement', async () => {
  let refusals = 0
  const refusing = faultyDriver(driver, ({ operation, args }): Fault | undefined => {
    const { layout } = (operation === 'change' ? args[0] : {}) as Partial<ShardCatalog>
    if ((layout?.moves ?? []).length === 0 || ++refusals > 1) return undefined
    return { before: () => Promise.reject(new LooseleafError('SHARD_DENIED', 'It is denied.')) }
  })
  const store = await openStore(driver, leapingTime())
  await store.shards.move({ from: 2, to: 0, buckets: '2731-4095' })
  const other = await openStore(refusing, leapingTime())
  await expect(other.shards.rebalance()).rejects.toMatchObject({ code: 'SHARD_DENIED' })
})

test('a drain leaves a move between other shards alone', async () => {
  const store = await openStore(driver, leapingTime())
  await announceMove(store.context, { from: 1, to: 2, buckets: '1400-1409' })
  expect((await store.shards.drain(0)).every(({ from }) => from === 0)).toBe(true)
  expect(await store.shards.moves()).toMatchObject([{ from: 1, to: 2, counts: { entities: 0 } }])
})

test('the end of a draining rejects for a shard that the store does not have', async () => {
  const store = await openStore(driver, leapingTime())
  await expect(store.shards.stopDraining(3)).rejects.toMatchObject({ code: 'BAD_OPTION' })
  await expect(store.shards.drain(3)).rejects.toMatchObject({ code: 'BAD_OPTION' })
})

test('a call that waits for another mover looks at the move every half a second', async () => {
  const store = await openStore(driver, leapingTime())
  const time = leapingTime()
  const sleeps: number[] = []
  const sleep: typeof time.sleep = (milliseconds, signal) => {
    sleeps.push(milliseconds)
    return time.sleep(milliseconds, signal)
  }
  const looks: string[] = []
  const watched = faultyDriver(driver, ({ operation, args: [task] }) => {
    if (operation === 'claim' && task === 'move/1') looks.push(operation)
    return undefined
  })
  const other = await openStore(watched, { ...time, sleep })
  let waiting: Promise<unknown> | undefined
  await moveBuckets(
    store,
    { from: 0, to: 1, buckets: SOME_BUCKETS },
    { onProgress: () => (waiting ??= resumeMoves(other)) },
  )
  expect(await waiting).toMatchObject([{ state: 'done' }])
  expect(looks.length).toBeGreaterThan(1)
  expect(sleeps.filter((milliseconds) => milliseconds === 500).length).toBeGreaterThanOrEqual(
    looks.length - 1,
  )
})
