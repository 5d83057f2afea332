import { memoryShards } from '@looseleaf/driver-sqlite'
import { keepOpen } from '@looseleaf/testkit'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { changeCatalogContents } from '@looseleaf/index-engine/internal'
import {
  consume,
  DataStore,
  dropConsumer,
  moveBuckets,
  movesOf,
  readConsumers,
  resumeMoves,
  type Driver,
} from '../src/index.ts'

const PLAN = { from: 0, to: 1, buckets: '0-1023' }

let driver: Driver
let store: DataStore
let mover: DataStore

beforeEach(async () => {
  driver = await memoryShards(2).connect()
  store = await DataStore.open({ shards: keepOpen(driver), migrate: true })
  mover = await DataStore.open({ shards: keepOpen(driver), time: leapingTime() })
})
afterEach(async () => {
  await Promise.all([store.close(), mover.close()])
  await driver.close()
})

test('a move is refused while a consumer is registered, also if it is not running, and nothing is announced', async () => {
  const consumer = consume(store, 'search', () => {}, { from: 'now' })
  await expect.poll(async () => (await readConsumers(store)).length).toBe(1)
  await consumer.stop()
  await expect(moveBuckets(mover, PLAN)).rejects.toMatchObject({
    code: 'CONFLICT',
    message: expect.stringContaining('The store has consumers (search)'),
  })
  expect(await movesOf(mover)).toEqual([])
  await dropConsumer(store, 'search')
  expect(await moveBuckets(mover, PLAN)).toMatchObject({ state: 'done' })
})

test('a new consumer is refused while a move is announced, and begins by itself after it, with every entity once', async () => {
  const { layout } = store.context.catalog.current()
  const announced = { ...PLAN, id: layout!.revision + 1, phase: 'both' as const }
  await changeCatalogContents(driver, (contents) => ({
    ...contents,
    layout: { ...contents.layout!, revision: announced.id, moves: [announced] },
  }))
  const ids = new Set(
    (await store.putMany(Array.from({ length: 50 }, (_, n) => ({ n })))).map(({ id }) => id),
  )
  const errors: unknown[] = []
  const handled: string[] = []
  const onError = (error: unknown): void => void errors.push(error)
  await using _ = consume(store, 'search', ({ id }) => void handled.push(id), { from: 'beginning', onError })
  await expect
    .poll(() => errors)
    .toContainEqual(
      expect.objectContaining({ code: 'CONFLICT', message: expect.stringContaining('is not over') }),
    )
  expect((await readConsumers(store)).length).toBe(0)
  await resumeMoves(mover)
  await expect.poll(() => handled.toSorted(), { timeout: 10_000 }).toEqual([...ids].toSorted())
})
