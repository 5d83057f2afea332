import { LooseleafError, parseId, type Driver, type EntityId } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import {
  changeCatalogContents,
  changeServes,
  loadShardCatalog,
  tableSpec,
} from '@looseleaf/index-engine/internal'
import { sizesOn, totalOf } from '@looseleaf/mover/internal'
import { announceMove, createThrottle, entitiesIn, shardAt } from '@looseleaf/protocol/internal'
import { moduloRouter } from '@looseleaf/router'
import { DataStore } from '@looseleaf/store'
import { faultyDriver, keepOpen, type FaultyCall } from '@looseleaf/testkit'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, onTestFinished, test } from 'vitest'
import { moveUntil } from './consumers/moving.ts'
import { byUser, contentsOf, filledStore, indexes, openStore } from './stores.ts'

const PLAN = { from: 0, to: 1, buckets: '0-9' }

async function driverOf(shards: number): Promise<Driver> {
  const driver = await memoryShards(shards).connect()
  onTestFinished(() => driver.close())
  return driver
}

function idIn(store: DataStore, buckets: string): EntityId {
  const isIn = entitiesIn(store.context, buckets)
  for (;;) {
    const id = store.newId()
    if (isIn(parseId(id))) return id
  }
}

test('only the first plan of a store says that older processes know no moves', async () => {
  const store = await openStore(await driverOf(2))
  expect((await store.shards.plan(PLAN)).warnings).toEqual([
    expect.stringMatching(/^No bucket of this store has moved yet\..* STORE_TOO_NEW\. Update them before\.$/),
  ])
  // An empty plan has no such warning.
  expect((await store.shards.plan('rebalance')).warnings).toEqual([])
  await announceMove(store.context, PLAN)
  expect((await store.shards.plan({ ...PLAN, buckets: '10' })).warnings).toEqual([])
})

test('a plan has the warnings of each target once, with its number', async () => {
  const driver = await driverOf(3)
  await filledStore(driver, 60)
  const shards = driver.shards.map((shard, number) => ({
    ...shard,
    warnings: async () => (number === 0 ? ['Shard zero gives only.'] : ['Commits are not flushed.']),
  }))
  const store = await openStore({ ...driver, shards })
  const { moves, warnings } = await store.shards.plan({ drain: 0 })
  expect(moves.map(({ to }) => to)).toEqual([1, 2])
  expect(warnings.filter((warning) => !warning.startsWith('No bucket'))).toEqual([
    'Shard 1: Commits are not flushed.',
    'Shard 2: Commits are not flushed.',
  ])
})

test.each([
  [0.5, '0.5'],
  [-1, '-1'],
  [3, '3'],
  ['1', 'a string of 1 character'],
])('a plan of a drain of the shard %j is BAD_OPTION', async (number, received) => {
  const store = await openStore(await driverOf(3))
  await expect(store.shards.plan({ drain: number as number })).rejects.toMatchObject({
    code: 'BAD_OPTION',
    message: `The drain of shards.plan has to be the number of a shard below 3; got ${received}.`,
  })
})

test.each([undefined, null, 'evened', 7])('the request %j is no plan', async (request) => {
  const store = await openStore(await driverOf(2))
  await expect(store.shards.plan(request as never)).rejects.toMatchObject({
    code: 'BAD_OPTION',
    message: expect.stringContaining(
      "shards.plan takes { from, to, buckets }, { drain } or 'rebalance'; got",
    ) as string,
  })
})

test.each([
  ['both', 1, 0],
  ['target', 1, 0],
  ['undoing', 0, 1],
] as const)('buckets of an announced move with the phase %s count on shard %i', async (phase, from, to) => {
  const driver = await driverOf(2)
  const store = await openStore(driver)
  // Nearly all of the data is in one bucket of shard 0.
  for (let n = 0; n < 20; n++) await store.put({ text: `${n}`.repeat(1_000) }, { id: idIn(store, '0') })
  for (const bucket of ['2', '2048']) await store.put({ n: 1 }, { id: idIn(store, bucket) })
  await changeCatalogContents(driver, ({ layout, ...contents }) => ({
    ...contents,
    layout: { ...layout!, revision: 1, moves: [{ id: 1, from: 0, to: 1, buckets: '0-1', phase }] },
  }))
  const { moves, warnings } = await store.shards.plan('rebalance')
  expect(moves).toMatchObject([{ from, to, buckets: from === 0 ? '2' : '2048' }])
  expect(warnings).toContain(
    'Move 1, from shard 0 to shard 1, is not over, and comes first. Its buckets are not in this plan.',
  )
})

test('buckets that have moved weigh what their new shard has of them, although the old one has deleted some', async () => {
  const driver = await driverOf(2)
  const store = await openStore(driver, leapingTime())
  const ids = Array.from({ length: 20 }, () => idIn(store, '0'))
  for (const id of ids) await store.put({ text: id.repeat(50) }, { id })
  await store.put({ n: 1 }, { id: idIn(store, '2048') })
  await moveUntil(store, 'emptying', { from: 0, to: 1, buckets: '0' })
  const { entities, catalog } = driver.shards[0]!
  await entities.discard(ids.map(parseId), { epoch: (await catalog.load())!.epoch })
  expect((await store.shards.plan('rebalance')).moves).toMatchObject([{ from: 1, to: 0, buckets: '2048' }])
})

test('the plan of a drain of the last shard that takes buckets has the reason as its problem', async () => {
  const store = await openStore(await driverOf(2), leapingTime())
  await store.shards.drain(1)
  const { moves, problems } = await store.shards.plan({ drain: 0 })
  expect(moves).toEqual([])
  expect(problems).toEqual(['Shard 0 cannot be drained: no other shard takes buckets. Add a shard first.'])
})

test('a target that refuses writes is a problem of a plan, and one whose catalog changes is not', async () => {
  const driver = await driverOf(2)
  await (await openStore(driver)).close()
  let error: LooseleafError | undefined
  const tried: FaultyCall[] = []
  const faulty = faultyDriver(driver, (call) => {
    if (call.operation !== 'discard') return undefined
    tried.push(call)
    return {
      before() {
        if (error !== undefined) throw error
      },
    }
  })
  const store = await openStore(faulty)
  error = new LooseleafError('SHARD_DENIED', 'It is refused.', { shard: 'memory 1' })
  expect((await store.shards.plan(PLAN)).problems).toEqual([
    'Shard 1 would refuse the copies: It is refused.',
  ])
  await expect(store.shards.move(PLAN)).rejects.toMatchObject({
    code: 'SHARD_DENIED',
    shard: 'memory 1',
    cause: error,
  })
  error = new LooseleafError('STALE_EPOCH', 'The catalog has changed.')
  expect((await store.shards.plan(PLAN)).problems).toEqual([])
  for (const each of ['ABORTED', 'CLOSED'] as const) {
    error = new LooseleafError(each, 'The call ends.')
    await expect(store.shards.plan(PLAN)).rejects.toMatchObject({ code: each })
  }
  expect(new Set(tried.map(({ shard }) => shard))).toEqual(new Set([1]))
  // No shard has this epoch.
  expect(tried[0]!.args).toEqual([[expect.any(Uint8Array)], expect.objectContaining({ epoch: 0 })])
})

test('the sizes of a shard are counted by bucket, and a dropped index has none', async () => {
  const driver = await driverOf(2)
  const store = await filledStore(driver, 60)
  const work = {
    context: store.context,
    throttle: createThrottle(store.context.time, undefined),
    signal: undefined,
  }
  const [first, second] = [await sizesOn(work, 0), await sizesOn(work, 1)]
  const total = totalOf([...first.values(), ...second.values()])
  expect(total.entities).toBe((await contentsOf(store)).size)
  expect(total.tombstones).toBe(6)
  expect(Math.max(...first.keys())).toBeLessThan(2_048)
  expect(Math.min(...second.keys())).toBeGreaterThanOrEqual(2_048)
  const dropped = await rowsOfUsers(store)
  let error = new LooseleafError('INDEX_NOT_FOUND', 'The index was dropped.')
  const dropping = await openStore(
    faultyDriver(driver, ({ table, operation }) =>
      table.startsWith('index_by_user') && operation === 'scan'
        ? { before: () => Promise.reject(error) }
        : undefined,
    ),
  )
  const { rows } = totalOf((await sizesOn({ ...work, context: dropping.context }, 0)).values())
  const { rows: all } = totalOf(first.values())
  expect(all - rows).toBe(dropped)
  error = new LooseleafError('SHARD_DENIED', 'It is denied.')
  await expect(sizesOn({ ...work, context: dropping.context }, 0)).rejects.toBe(error)
  expect(rows).toBeGreaterThan(0)
})

async function rowsOfUsers(store: DataStore): Promise<number> {
  const entry = store.context.catalog.current().indexes.find(({ name }) => name === byUser.name)!
  const rows = await shardAt(store.context, 0).index(tableSpec(entry)).scan({
    prefix: [],
    order: 'asc',
    limit: 1_000,
  })
  return rows.length
}

test('everything on a shard of a router without buckets has the size of one bucket', async () => {
  const driver = await driverOf(1)
  const store = await DataStore.open({
    shards: keepOpen(driver),
    indexes,
    router: moduloRouter({ shards: 1 }),
    migrate: true,
  })
  await store.putMany(Array.from({ length: 5 }, (_, n) => ({ name: `name ${n}` })))
  const [{ size } = { size: undefined }] = await store.shards.list({ sizes: true })
  expect(size).toMatchObject({ entities: 5, tombstones: 0, rows: 10 })
  const work = {
    context: store.context,
    throttle: createThrottle(store.context.time, undefined),
    signal: undefined,
  }
  expect([...(await sizesOn(work, 0)).keys()]).toEqual([0])
})

test('a store whose shard has a bucket too many is planned with that as its problem', async () => {
  const driver = await driverOf(2)
  const store = await openStore(driver)
  const shard = driver.shards[1]!
  await changeServes(shard, (await loadShardCatalog(shard))!, { owns: '5,2048-4095' })
  expect((await store.shards.plan(PLAN)).problems).toEqual([
    expect.stringMatching(/^The buckets 5 belong to shard /),
  ])
})

test('a rebalance counts a bucket without entities that is in a move', async () => {
  const store = await openStore(await driverOf(2))
  const bags = Array.from({ length: 40 }, () => ({ id: idIn(store, '0-2047'), title: 'x'.repeat(200) }))
  await store.putMany(bags)
  await announceMove(store.context, { from: 1, to: 0, buckets: '4095' })
  const { moves } = await store.shards.plan('rebalance')
  expect(moves).toMatchObject([{ from: 0, to: 1 }])
})
