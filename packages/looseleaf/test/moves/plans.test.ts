import { LooseleafError } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { announceMove } from '@looseleaf/protocol/internal'
import type { DataStore } from '@looseleaf/store'
import { faultyDriver } from '@looseleaf/testkit'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, test } from 'vitest'
import { checkIndexes, checkQueries, contentsOf, filledStore, openStore, SOME_BUCKETS } from './stores.ts'

/** Returns the buckets of each shard, and its bytes. */
async function sharesOf(store: DataStore): Promise<readonly (readonly [buckets: number, bytes: number])[]> {
  const shards = await store.shards.list({ sizes: true })
  return shards.map(({ buckets, size }) => [buckets!, size!.bytes])
}

test('a rebalance evens the bytes of three shards, and a second one moves nothing', async () => {
  const driver = await memoryShards(3).connect()
  const store = await filledStore(driver, 600)
  await store.shards.move({ from: 2, to: 0, buckets: '2731-4095' })
  const before = await contentsOf(store)
  expect((await sharesOf(store))[2]).toEqual([0, 0])
  const plan = await store.shards.plan('rebalance')
  expect(plan).toMatchObject({ problems: [] })
  const reports = await store.shards.rebalance()
  expect(reports.map(({ from, to, buckets, state }) => ({ from, to, buckets, state }))).toEqual(
    plan.moves.map(({ from, to, buckets }) => ({ from, to, buckets, state: 'done' })),
  )
  const bytes = (await sharesOf(store)).map(([, each]) => each)
  expect(Math.max(...bytes) / Math.min(...bytes)).toBeLessThan(1.1)
  expect(await store.shards.rebalance()).toEqual([])
  const fresh = await openStore(driver)
  expect(await contentsOf(fresh)).toEqual(before)
  await checkQueries(fresh)
  await checkIndexes(fresh)
})

test('a drain leaves nothing on a shard, evens the others, and no bucket moves there until it is stopped', async () => {
  const driver = await memoryShards(3).connect()
  const store = await filledStore(driver, 600)
  const before = await contentsOf(store)
  const reports = await store.shards.drain(1)
  expect(reports.map(({ from, state }) => [from, state])).toEqual([
    [1, 'done'],
    [1, 'done'],
  ])
  const shares = await sharesOf(store)
  expect(shares[1]).toEqual([0, 0])
  expect(Math.abs(shares[0]![1] / shares[2]![1] - 1)).toBeLessThan(0.1)
  expect(await store.shards.list()).toMatchObject([
    { state: 'serving' },
    { state: 'draining', buckets: 0 },
    {},
  ])
  await expect(store.shards.move({ from: 0, to: 1, buckets: '0' })).rejects.toMatchObject({
    code: 'BAD_OPTION',
    message: expect.stringMatching(/shard 1 is being drained/),
  })
  expect(await store.shards.drain(1)).toEqual([])
  await store.shards.stopDraining(1)
  expect(await store.shards.move({ from: 0, to: 1, buckets: '0' })).toMatchObject({ state: 'done' })
  const fresh = await openStore(driver)
  expect(await contentsOf(fresh)).toEqual(before)
  await checkQueries(fresh)
  await checkIndexes(fresh)
})

test('a plan has the exact numbers of rows that a move copies', async () => {
  const driver = await memoryShards(2).connect()
  const store = await filledStore(driver, 400)
  const plan = await store.shards.plan({ from: 0, to: 1, buckets: SOME_BUCKETS })
  expect(plan).toMatchObject({
    problems: [],
    warnings: [expect.stringMatching(/^No bucket of this store has moved yet/)],
    moves: [{ from: 0, to: 1, buckets: SOME_BUCKETS, bucketCount: 1_024 }],
  })
  const [planned] = plan.moves
  const before = (await store.shards.list({ sizes: true }))[1]!.size!
  const { counts } = await store.shards.move(planned!)
  expect(planned!.entities + planned!.tombstones).toBe(counts.entities)
  expect(planned!.rows).toBe(counts.rows + counts.claims)
  const after = (await store.shards.list({ sizes: true }))[1]!.size!
  expect(after).toEqual({
    entities: before.entities + planned!.entities,
    tombstones: before.tombstones + planned!.tombstones,
    bytes: before.bytes + planned!.bytes,
    rows: before.rows + planned!.rows,
  })
})

test('a plan reads each shard once, and changes nothing', async () => {
  const driver = await memoryShards(3).connect()
  await filledStore(driver, 300)
  const calls: string[] = []
  const watched = faultyDriver(driver, ({ shard, table, operation, args }) => {
    // No shard has the epoch 0, by which the rights are tried.
    const isTry = (args.at(-1) as { readonly epoch?: number } | undefined)?.epoch === 0
    calls.push(`${shard} ${table} ${isTry ? 'tries ' : ''}${operation}`)
    return undefined
  })
  const store = await openStore(watched)
  calls.length = 0
  expect((await store.shards.plan({ drain: 0 })).moves).toHaveLength(2)
  expect(calls.filter((call) => call.endsWith('pageByAdded')).toSorted()).toEqual([
    '0 entities pageByAdded',
    '1 entities pageByAdded',
    '2 entities pageByAdded',
  ])
  expect(
    calls.filter((call) =>
      /\d \w+ (change|insert|replace|discard|receive|upsert|take|remove|save|claim)$/.test(call),
    ),
  ).toEqual([])
})

test('a plan and a move name every problem at once, and the move announces nothing', async () => {
  const driver = await memoryShards(3).connect()
  const writer = await filledStore(driver, 50)
  const denied = (): never => {
    throw new LooseleafError('SHARD_DENIED', 'the user lacks the privilege DELETE (a fault on purpose).')
  }
  const store = await openStore(
    faultyDriver(driver, ({ shard, operation }) =>
      shard === 1 && operation === 'discard' ? { before: denied } : undefined,
    ),
    leapingTime(),
  )
  await writer.shards.drain(1)
  const planned = { from: 2, to: 1, buckets: '0-10,4000' }
  const { problems } = await store.shards.plan(planned)
  expect(problems).toEqual([
    expect.stringMatching(/shard 1 is being drained/),
    expect.stringMatching(/shard 2 does not have 11 of these buckets/),
    'Shard 1 would refuse the copies: the user lacks the privilege DELETE (a fault on purpose).',
  ])
  const { layout } = await store.context.catalog.reload()
  await expect(store.shards.move(planned)).rejects.toMatchObject({
    code: 'BAD_OPTION',
    message: `The planned moves were not announced, for 3 reasons. 1. ${problems[0]} 2. ${problems[1]} 3. ${problems[2]}`,
  })
  expect((await store.context.catalog.reload()).layout).toEqual(layout)
  await expect(store.shards.plan({ from: 0, to: 9, buckets: '0' })).rejects.toMatchObject({
    code: 'BAD_OPTION',
  })
  await expect(store.shards.plan({ from: 0, to: 1, buckets: 'all' })).rejects.toMatchObject({
    code: 'BAD_OPTION',
  })
  await expect(store.shards.plan('even' as 'rebalance')).rejects.toMatchObject({ code: 'BAD_OPTION' })
})

test('a plan leaves buckets of other moves out, and says so', async () => {
  const driver = await memoryShards(2).connect()
  const store = await filledStore(driver, 50)
  await announceMove(store.context, { from: 0, to: 1, buckets: '0-9' })
  const { moves, warnings, problems } = await store.shards.plan({ drain: 0 })
  expect(moves).toMatchObject([{ from: 0, to: 1, buckets: '10-2047' }])
  expect(problems).toEqual([])
  expect(warnings).toContainEqual(expect.stringMatching(/^Move 1, from shard 0 to shard 1, is not over/))
  expect((await store.shards.plan({ from: 0, to: 1, buckets: '5-20' })).problems).toEqual([
    expect.stringMatching(/^Some of these buckets are in move 1/),
  ])
})
