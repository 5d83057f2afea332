import { LooseleafError, parseId, type Driver } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { loadShardCatalog } from '@looseleaf/index-engine/internal'
import { entitiesIn } from '@looseleaf/protocol/internal'
import { faultyDriver } from '@looseleaf/testkit'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, test } from 'vitest'
import { moveUntil } from './consumers/moving.ts'
import {
  checkIndexes,
  checkQueries,
  contentsOf,
  filledStore,
  itemOf,
  openStore,
  rowsAt,
  SOME_BUCKETS,
} from './stores.ts'

const writes = new Set(
  'change claim claimAll save saveAll flush receive discard remove upsert insert replace raiseFloor raisePurged add'.split(
    ' ',
  ),
)

/** Puts a shard behind a disk that can be filled to its last page: reads go on, and no write does. */
function fillable(driver: Driver, full: number): { driver: Driver; disk: { isFull: boolean } } {
  const disk = { isFull: false }
  const { name } = driver.shards[full]!
  const error = new LooseleafError('SHARD_FULL', `${name}: the disk is full.`, {
    shard: name,
    retryable: true,
  })
  const faulty = faultyDriver(driver, ({ shard, operation }) =>
    disk.isFull && shard === full && writes.has(operation)
      ? { before: () => Promise.reject(error) }
      : undefined,
  )
  return { driver: faulty, disk }
}

test('a move whose target is full to its last page is undone, and repair deletes the copies when there is room', async () => {
  const memory = await memoryShards(3).connect()
  const { driver, disk } = fillable(memory, 1)
  const store = await filledStore(driver, 80)
  const before = await contentsOf(store)
  await moveUntil(store, 'checking')
  const sleeper = await openStore(driver)
  disk.isFull = true
  const [{ id } = { id: 0 }] = await store.shards.moves()
  expect(await store.shards.undo(id)).toMatchObject({
    state: 'undoing',
    endedAt: undefined,
    heldUpBy: 'memory 1: the disk is full.',
    commands: { forward: 'looseleaf shard repair', back: undefined },
  })
  expect(await store.shards.moves()).toMatchObject([{ id, state: 'undoing' }])
  for (const number of [0, 2])
    expect((await loadShardCatalog(memory.shards[number]!))?.layout?.moves).toEqual([])
  // The buckets are the source's again, for writes as well.
  const isIn = entitiesIn(store.context, SOME_BUCKETS)
  let own = store.newId()
  while (!isIn(parseId(own))) own = store.newId()
  await store.put({ n: 1 }, { id: own })
  await store.delete(own)

  disk.isFull = false
  // The target lacks the undo, and so does a process that has slept since before.
  const written = await Promise.all(
    Array.from({ length: 40 }, (_, number) => sleeper.put({ ...itemOf(1_000 + number) })),
  )
  await checkQueries(store)
  expect(await store.shards.repair()).toMatchObject({ moves: [{ id, state: 'undone' }], problems: [] })
  expect(await store.shards.moves()).toEqual([])
  expect(await rowsAt(store, 1, SOME_BUCKETS)).toBe(0)
  for (const entity of written) await store.delete(entity.id)
  await sleeper.close()
  const fresh = await openStore(memory, leapingTime())
  expect(await contentsOf(fresh)).toEqual(before)
  await checkQueries(fresh)
  await checkIndexes(fresh)
  expect(await fresh.shards.move({ from: 0, to: 1, buckets: SOME_BUCKETS })).toMatchObject({ state: 'done' })
})

test('a move whose target was full goes on when there is room', async () => {
  const { driver, disk } = fillable(await memoryShards(2).connect(), 1)
  const store = await filledStore(driver, 80)
  const before = await contentsOf(store)
  disk.isFull = true
  const plan = { from: 0, to: 1, buckets: SOME_BUCKETS }
  await expect(store.shards.move(plan)).rejects.toMatchObject({ code: 'SHARD_FULL' })
  expect(await store.shards.moves()).toEqual([])
  disk.isFull = false
  await moveUntil(store, 'checking')
  disk.isFull = true
  await expect(store.shards.move(plan)).rejects.toMatchObject({ code: 'SHARD_FULL', shard: 'memory 1' })
  disk.isFull = false
  expect(await store.shards.move(plan)).toMatchObject({ state: 'done' })
  expect(await contentsOf(await openStore(driver))).toEqual(before)
})

test.each([
  ['that its target denies', new LooseleafError('SHARD_DENIED', 'It is denied.', { shard: 'memory 1' })],
  ['that another shard holds up', new LooseleafError('SHARD_UNAVAILABLE', 'Down.', { shard: 'memory 0' })],
])('an undo %s rejects, and takes nothing back', async (_, error) => {
  const driver = await memoryShards(2).connect()
  const store = await filledStore(driver, 20)
  await moveUntil(store, 'checking')
  const failing = await openStore(
    faultyDriver(driver, ({ shard, operation }) =>
      shard === 1 && operation === 'claim' ? { before: () => Promise.reject(error) } : undefined,
    ),
    leapingTime(),
  )
  await expect(failing.shards.undo(1)).rejects.toBe(error)
  const { moves } = (await loadShardCatalog(driver.shards[0]!))!.layout!
  expect(moves).toMatchObject([{ id: 1, phase: 'both' }])
})
