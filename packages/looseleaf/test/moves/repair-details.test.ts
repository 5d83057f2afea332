import { LooseleafError, type Driver } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { changeCatalogContents } from '@looseleaf/index-engine/internal'
import { moveBuckets } from '@looseleaf/mover/internal'
import { announceMove } from '@looseleaf/protocol/internal'
import { DataStore } from '@looseleaf/store'
import { faultyDriver, keepOpen, type FaultPlan } from '@looseleaf/testkit'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { filledStore, openStore } from './stores.ts'

let driver: Driver

beforeEach(async () => {
  driver = await memoryShards(3).connect()
  await (await filledStore(driver, 40)).close()
})
afterEach(() => driver.close())

const openWith = (plan: FaultPlan): ReturnType<typeof openStore> =>
  openStore(faultyDriver(driver, plan), leapingTime())

test('a repair names a move that has stopped again, and finishes the others', async () => {
  const store = await openStore(driver, leapingTime())
  const first = await announceMove(store.context, { from: 0, to: 1, buckets: '0-99' })
  const second = await announceMove(store.context, { from: 0, to: 2, buckets: '100-199' })
  const denied = new LooseleafError('SHARD_DENIED', 'The server denies it.')
  let isDenied = true
  const failing = await openWith(({ shard, operation }) =>
    isDenied && shard === 1 && operation === 'raiseFloor'
      ? { before: () => Promise.reject(denied) }
      : undefined,
  )
  const report = await failing.shards.repair()
  expect(report.problems).toEqual([`Move ${first.id} has stopped: The server denies it.`])
  expect(report.moves).toMatchObject([{ id: second.id, state: 'done' }])
  isDenied = false
  expect(await failing.shards.repair()).toMatchObject({
    moves: [{ id: first.id, state: 'done' }],
    problems: [],
  })
})

test('a repair tells to repeat it when the shard of a move takes calls again', async () => {
  const store = await openStore(driver, leapingTime())
  const { id } = await announceMove(store.context, { from: 0, to: 1, buckets: '0-99' })
  const down = new LooseleafError('SHARD_UNAVAILABLE', 'The server is down.')
  const failing = await openWith(({ shard, operation }) =>
    shard === 1 && operation === 'raiseFloor' ? { before: () => Promise.reject(down) } : undefined,
  )
  const pauses: number[] = []
  const report = await failing.shards.repair({ onRetry: (_, pauseMs) => void pauses.push(pauseMs) })
  expect(report.problems).toEqual([
    `Move ${id} has stopped: The server is down. Call shards.repair when the shard takes calls again.`,
  ])
  expect(pauses).toEqual([500, 1_000, 2_000, 4_000, 8_000])
})

test('a repair takes a move once the one before it has handed its buckets over', async () => {
  const store = await openStore(driver, leapingTime())
  await announceMove(store.context, { from: 0, to: 1, buckets: '0-99' })
  await announceMove(store.context, { from: 0, to: 2, buckets: '100-199' })
  let taken: readonly boolean[] | undefined
  const look = async (): Promise<void> => {
    taken ??= (await store.shards.moves()).map(({ holder }) => holder !== undefined)
  }
  const watched = await openWith(({ operation }) =>
    operation === 'raiseFloor' ? { before: look } : undefined,
  )
  expect(await watched.shards.repair()).toMatchObject({ moves: [{ state: 'done' }, { state: 'done' }] })
  expect(taken).toEqual([true, false])
})

test.each([
  new LooseleafError('ABORTED', 'The call has ended.'),
  new LooseleafError('CLOSED', 'The store was closed.'),
  new TypeError('A mistake of the program.'),
])('a repair whose move ends with this error rejects: %s', async (fault) => {
  const store = await openStore(driver, leapingTime())
  await announceMove(store.context, { from: 0, to: 1, buckets: '0-99' })
  const failing = await openWith(({ shard, operation }) =>
    shard === 1 && operation === 'raiseFloor' ? { before: () => Promise.reject(fault) } : undefined,
  )
  await expect(failing.shards.repair()).rejects.toThrow(fault.message)
})

test('a repair names a shard that could not finish to join, and does the rest', async () => {
  const store = await openStore(driver, leapingTime())
  await changeCatalogContents(driver, ({ layout, ...contents }) => {
    const [first, second, third] = layout!.shards
    const joining = { ...third!, buckets: '', state: 'joining' as const }
    const shards = [first!, { ...second!, buckets: '1366-4095' }, joining]
    return { ...contents, layout: { ...layout!, revision: 1, shards } }
  })
  await announceMove(store.context, { from: 0, to: 1, buckets: '0-9' })
  expect(await store.shards.repair()).toMatchObject({
    joined: [],
    moves: [{ state: 'done' }],
    problems: [
      'Shard 2, memory 2, has not finished to join the store: The driver of this store knows only the shards that it was given. Add it again with its address.',
    ],
  })
})

test('a repair copies the catalog to each shard that lacks its contents, and to no other', async () => {
  const store = await openStore(driver, leapingTime())
  const behind = await driver.shards[2]!.catalog.load()
  await announceMove(store.context, { from: 0, to: 1, buckets: '0-9' })
  const { catalog } = driver.shards[2]!
  await catalog.change(behind!, (await catalog.load())!.epoch)
  expect(await store.shards.repair()).toMatchObject({ catalogs: [2], joined: [], begun: [] })
})

test('a repair after a removal leaves the removed shard alone', async () => {
  const store = await openStore(driver, leapingTime())
  await store.shards.move({ from: 0, to: 2, buckets: '100-109' })
  await store.shards.drain(2)
  await store.shards.remove(2)
  await announceMove(store.context, { from: 0, to: 1, buckets: '0-9' })
  const down = new LooseleafError('SHARD_UNAVAILABLE', 'It is switched off.')
  const repairing = await openWith(({ shard }) =>
    shard === 2 ? { before: () => Promise.reject(down) } : undefined,
  )
  expect(await repairing.shards.repair()).toMatchObject({
    catalogs: [],
    moves: [{ state: 'done' }],
    problems: [],
  })
  expect((await store.shards.moves({ finished: true })).at(-1)).toMatchObject({ buckets: '0-9' })
  await expect(moveBuckets(store, { from: 0, to: 2, buckets: '20' })).rejects.toMatchObject({
    code: 'BAD_OPTION',
  })
})

test('a store without a layout has no moves, and nothing to repair', async () => {
  await changeCatalogContents(driver, (contents) => ({ ...contents, layout: undefined }))
  const older = await DataStore.open({ shards: keepOpen(driver) })
  expect(await older.shards.moves({ finished: true })).toEqual([])
  expect(await older.shards.repair()).toEqual({
    catalogs: [],
    joined: [],
    begun: [],
    moves: [],
    problems: [],
  })
  await older.close()
})
