import { sweep } from '@looseleaf/cleaner'
import { LooseleafError, parseId, type Driver } from '@looseleaf/core'
import type { Key, ShardCatalog, ShardServes } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import {
  bucketOfRow,
  changeServes,
  deriveClaims,
  loadShardCatalog,
  tableSpec,
} from '@looseleaf/index-engine/internal'
import { moveBuckets, resumeMoves } from '@looseleaf/mover/internal'
import { entitiesIn, ownerFaults, shardAt } from '@looseleaf/protocol/internal'
import type { DataStore } from '@looseleaf/store'
import { faultyDriver } from '@looseleaf/testkit'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, test } from 'vitest'
import { dyingDriver } from '../../../cleaner/test/broken-driver.ts'
import {
  byName,
  checkIndexes,
  checkQueries,
  contentsOf,
  filledStore,
  openStore,
  SOME_BUCKETS,
} from './stores.ts'

const PLAN = { from: 0, to: 1, buckets: SOME_BUCKETS }
const NOTHING = { catalogs: [], joined: [], begun: [], moves: [], problems: [] }

/** Begins a move by a process that dies when its first group is handed over, at the source alone or also at the target. */
async function moveUntilHandOver(driver: Driver, { begins }: { readonly begins: boolean }): Promise<void> {
  const dying = dyingDriver(driver, { withEffect: true })
  const isLast = async (): Promise<boolean> => {
    const { serves } = (await loadShardCatalog(driver.shards[begins ? 1 : 0]!))!
    return (begins ? serves?.arrived : serves?.away) !== undefined
  }
  const watched = faultyDriver(dying.driver, ({ table, operation }) =>
    table === 'catalog' && operation === 'change'
      ? { after: async () => void ((await isLast()) && dying.dieAfter(0)) }
      : undefined,
  )
  const store = await openStore(watched, leapingTime())
  await expect(moveBuckets(store, PLAN, { groups: 2, leaseMs: 1 })).rejects.toMatchObject({
    code: 'CLOSED',
  })
}

/** Moves buckets by a process that dies before the source deletes them. */
async function moveUntilEmptied(driver: Driver): Promise<void> {
  const dying = dyingDriver(driver, { withEffect: false })
  const watched = faultyDriver(dying.driver, ({ operation, args: [catalog] }) => {
    const { serves } = (operation === 'change' ? catalog : {}) as Partial<ShardCatalog>
    return serves?.away?.some(({ emptied }) => emptied !== undefined)
      ? { before: () => dying.dieAfter(0) }
      : undefined
  })
  const store = await openStore(watched, leapingTime())
  await expect(moveBuckets(store, PLAN, { groups: 2, leaseMs: 1 })).rejects.toMatchObject({
    code: 'CLOSED',
  })
}

async function servesOf(driver: Driver, number: number): Promise<ShardServes> {
  return (await loadShardCatalog(driver.shards[number]!))!.serves!
}

/** Puts the own buckets of a shard back, as a server does that has lost its last commits. */
async function putBack(driver: Driver, number: number, serves: ShardServes): Promise<void> {
  const shard = driver.shards[number]!
  await changeServes(shard, (await loadShardCatalog(shard))!, serves)
}

async function expectWhole(driver: Driver, before: ReadonlyMap<string, string>): Promise<void> {
  const fresh = await openStore(driver)
  expect(await contentsOf(fresh)).toEqual(before)
  expect(await fresh.shards.moves()).toEqual([])
  await checkQueries(fresh)
  await checkIndexes(fresh)
}

async function newStore(driver: Driver): Promise<DataStore> {
  return openStore(driver, leapingTime())
}

test('a repair of a store in order changes nothing', async () => {
  const store = await filledStore(await memoryShards(2).connect(), 20)
  const { epochs } = await store.context.catalog.reload()
  expect(await store.shards.repair()).toEqual(NOTHING)
  expect((await store.context.catalog.reload()).epochs).toEqual(epochs)
  await store.shards.move(PLAN)
  expect(await store.shards.repair()).toEqual(NOTHING)
})

test('a repair copies the catalog to the shards that a dead process left out', async () => {
  const driver = await memoryShards(3).connect()
  const dying = dyingDriver(driver, { withEffect: true })
  const watched = faultyDriver(dying.driver, ({ table, operation }) =>
    table === 'catalog' && operation === 'change' ? { after: () => dying.dieAfter(0) } : undefined,
  )
  // A store that opens copies the catalog, too.
  const store = await filledStore(driver, 20)
  await expect((await newStore(watched)).shards.drain(2)).rejects.toMatchObject({ code: 'CLOSED' })
  expect(await store.shards.repair()).toEqual({ ...NOTHING, catalogs: [1, 2] })
  expect(await store.shards.repair()).toEqual(NOTHING)
  const layouts = await Promise.all(
    driver.shards.map(async (shard) => (await loadShardCatalog(shard))!.layout),
  )
  expect(layouts.map((layout) => layout!.shards[2]!.state)).toEqual(['draining', 'draining', 'draining'])
})

test.each([
  ['the source has given a group up', false, [1]],
  ['the target has begun', true, []],
])('a repair finishes a move whose mover died when %s', async (_, begins, begun) => {
  const driver = await memoryShards(2).connect()
  const before = await contentsOf(await filledStore(driver, 200))
  await moveUntilHandOver(driver, { begins })
  const store = await newStore(driver)
  expect(await store.shards.moves()).toMatchObject([
    { state: 'sealing', handedOver: 512, forward: 'repair', back: 'move' },
  ])
  expect(await store.shards.repair()).toEqual({
    ...NOTHING,
    begun,
    moves: [expect.objectContaining({ state: 'done', handedOver: 1_024, forward: undefined })],
  })
  await expectWhole(driver, before)
})

test('buckets with two owners are named by plan, move and repair, and nothing is changed', async () => {
  const driver = await memoryShards(2).connect()
  await filledStore(driver, 200)
  const before = { owns: '0-2047' }
  await moveUntilHandOver(driver, { begins: true })
  await putBack(driver, 0, before)
  const store = await newStore(driver)
  const text =
    /^The buckets 0-511 belong to shard 1, and shard 0 has gone back to a state in which it still owned them/
  expect(await store.shards.repair()).toEqual({ ...NOTHING, problems: [expect.stringMatching(text)] })
  expect(await store.shards.plan('rebalance')).toMatchObject({
    problems: expect.arrayContaining([expect.stringMatching(text)]),
  })
  await expect(store.shards.move({ from: 1, to: 0, buckets: '3000' })).rejects.toMatchObject({
    code: 'CONFLICT',
    message: expect.stringMatching(text),
  })
  expect(await servesOf(driver, 0)).toEqual(before)
  expect(store.context.catalog.current().layout!.moves).toHaveLength(1)
})

test('buckets that the target has lost during a move are copied again by repair, also after movers that died meanwhile', async () => {
  const driver = await memoryShards(2).connect()
  const before = await contentsOf(await filledStore(driver, 200))
  await moveUntilHandOver(driver, { begins: true })
  await putBack(driver, 1, { owns: '2048-4095' })
  const store = await newStore(driver)
  expect(await store.shards.plan({ from: 1, to: 0, buckets: '3000' })).toMatchObject({ problems: [] })
  for (const calls of [20, 40, 60]) {
    expect(await ownerFaults(store.context, {})).toMatchObject([
      {
        text: expect.stringMatching(
          /^The buckets 0-511 are on no shard: .*the move copies them again/,
        ) as string,
        isRepairable: true,
      },
    ])
    const dying = dyingDriver(driver, { withEffect: true })
    const mover = await newStore(dying.driver)
    dying.dieAfter(calls)
    await expect(resumeMoves(mover, { groups: 2, leaseMs: 1 })).rejects.toMatchObject({
      code: 'CLOSED',
    })
  }
  expect(await store.shards.repair()).toMatchObject({ problems: [], moves: [{ state: 'done' }] })
  await expectWhole(driver, before)
})

test('a claim of an attempt that has died holds no copying of lost buckets up', async () => {
  const driver = await memoryShards(2).connect()
  const filled = await filledStore(driver, 120)
  const before = await contentsOf(filled)
  const { context } = filled
  const entry = context.catalog.current().indexes.find(({ name, unique }) => name === byName.name && unique)!
  const isLost = entitiesIn(context, '0-511')
  const entityId = Array.from(before.keys(), parseId).find(isLost)!
  const keys = Array.from({ length: 99 }, (_, n) => deriveClaims(entry, { name: `dead ${n}` })[0]!)
  const isMoved = (key: Key): boolean => bucketOfRow(entry, context.router.buckets!, key, entityId) < 1_024
  const claim = { key: keys.find(isMoved)!, entityId, version: 1 }
  await shardAt(context, 0).claims(tableSpec(entry)).take([claim])
  await moveUntilHandOver(driver, { begins: true })
  await putBack(driver, 1, { owns: '2048-4095' })
  const store = await newStore(driver)
  expect(await store.shards.repair()).toMatchObject({ problems: [], moves: [{ state: 'done' }] })
  expect(await contentsOf(store)).toEqual(before)
  await sweep(store, { graceMs: 0 })
  await checkIndexes(store)
})

test('buckets that a shard has lost after their move are named by repair with the shard that has their entities, and nothing is changed', async () => {
  const driver = await memoryShards(2).connect()
  await filledStore(driver, 200)
  await moveUntilEmptied(driver)
  await putBack(driver, 1, { owns: '2048-4095' })
  const store = await newStore(driver)
  expect(await store.shards.repair()).toEqual({
    ...NOTHING,
    problems: [
      expect.stringMatching(
        /^The buckets 0-1023 are on no shard: shard 0 gave them up in move 1, and shard 1 went back .* Shard 0 still has their entities/,
      ),
    ],
  })
  expect(await servesOf(driver, 1)).toEqual({ owns: '2048-4095' })
})

test('a repair names a shard that does not answer, and changes nothing', async () => {
  const driver = await memoryShards(2).connect()
  await filledStore(driver, 20)
  await moveUntilHandOver(driver, { begins: false })
  let isDown = false
  const down = (): never => {
    throw new LooseleafError('SHARD_UNAVAILABLE', 'The server is down (a fault on purpose).')
  }
  const store = await newStore(
    faultyDriver(driver, ({ shard }) => (isDown && shard === 1 ? { before: down } : undefined)),
  )
  isDown = true
  const problems = ['Shard 1 does not answer: The server is down (a fault on purpose).']
  expect(await store.shards.repair()).toEqual({ ...NOTHING, problems })
  expect(await store.shards.plan({ drain: 1 })).toEqual({ moves: [], problems, warnings: [] })
  isDown = false
  expect((await store.shards.repair()).moves).toMatchObject([{ state: 'done' }])
})
