import { formatId, parseId, type Shard } from '@looseleaf/core'
import { bucketsIn } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import type { DataStore, MoveProgress, MoveReport } from '@looseleaf/store'
import { entitiesIn, loadOwn, processName, shardAt } from '@looseleaf/protocol/internal'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, test } from 'vitest'
import { moveBuckets, movesOf, resumeMoves, undoMove } from '@looseleaf/mover/internal'

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

test('a move hands 2,000 entities over with their tombstones, index rows and claims, and leaves nothing behind', async () => {
  const driver = await memoryShards(2).connect()
  const store = await filledStore(driver, 2_000)
  const before = await contentsOf(store)
  const progress: MoveProgress[] = []

  const report = await moveBuckets(
    store,
    { from: 0, to: 1, buckets: SOME_BUCKETS },
    { onProgress: (each) => progress.push(each) },
  )
  expect(report).toMatchObject({ state: 'done', handedOver: 1_024, heldUpBy: undefined, next: undefined })
  expect(report.seals.groups).toBe(16)
  expect(report.counts.compared).toBe(report.counts.entities)
  expect(progress.some(({ rate }) => rate > 0)).toBe(true)
  expect(await movesOf(store)).toEqual([])
  expect([...new Set(progress.map(({ step }) => step))]).toEqual([
    'copying',
    'checking',
    'sealing',
    'switching',
    'emptying',
    'done',
  ])

  const fresh = await openStore(driver)
  expect(await contentsOf(fresh)).toEqual(before)
  expect(await rowsAt(fresh, 0, SOME_BUCKETS)).toBe(0)
  await checkQueries(fresh)
  await checkIndexes(fresh)
})

test('a tombstone moves with its version', async () => {
  const driver = await memoryShards(2).connect()
  const store = await filledStore(driver, 200)
  const isIn = entitiesIn(store.context, SOME_BUCKETS)
  const page = await shardAt(store.context, 0).entities.pageByAdded(0, 1_000)
  const tombstones = page.filter(({ id, body }) => isIn(id) && body === null)
  expect(tombstones.length).toBeGreaterThan(0)
  await moveBuckets(store, { from: 0, to: 1, buckets: SOME_BUCKETS })
  const rows = await shardAt(store.context, 1).entities.read(tombstones.map(({ id }) => id))
  expect(rows.map((row) => [row?.version, row?.body])).toEqual(
    tombstones.map(({ version }) => [version, null]),
  )
})

test('pending rows move with their entities', async () => {
  const driver = await memoryShards(2).connect()
  const store = await filledStore(driver, 50)
  const isIn = entitiesIn(store.context, SOME_BUCKETS)
  const { entities, pending } = shardAt(store.context, 0)
  const ids = (await entities.pageByAdded(0, 1_000)).map(({ id }) => id)
  const { epoch } = (await loadOwn(store.context, 0, {})).catalog
  await pending.add(
    ids.map((entityId) => ({ entityId, table: 'index_by_user', version: 7 })),
    { epoch },
  )
  await moveBuckets(store, { from: 0, to: 1, buckets: SOME_BUCKETS })
  const pendingOf = async (shard: Shard): Promise<string[]> =>
    (await shard.pending.page({ limit: 500 })).map(({ entityId }) => formatId(entityId))
  const textsOf = (some: readonly Uint8Array[]): string[] => some.map(formatId).toSorted()
  expect((await pendingOf(shardAt(store.context, 0))).toSorted()).toEqual(
    textsOf(ids.filter((id) => !isIn(id))),
  )
  expect((await pendingOf(shardAt(store.context, 1))).toSorted()).toEqual(textsOf(ids.filter(isIn)))
})

test('a bucket without data, and all buckets of a shard, can move', async () => {
  const driver = await memoryShards(2).connect()
  const store = await filledStore(driver, 300)
  const before = await contentsOf(store)
  const { ofId } = store.context.router.buckets!
  const used = new Set(Array.from(before.keys(), (id) => ofId(parseId(id as never))))
  const empty = bucketsIn('0-2047').find((bucket) => !used.has(bucket))!
  expect(await moveBuckets(store, { from: 0, to: 1, buckets: `${empty}` })).toMatchObject({ state: 'done' })
  await moveBuckets(store, { from: 1, to: 0, buckets: '2048-4095' })
  expect((await loadOwn(store.context, 1, {})).serves.owns).toBe(`${empty}`)
  const fresh = await openStore(driver)
  expect(await contentsOf(fresh)).toEqual(before)
  await checkQueries(fresh)
  await checkIndexes(fresh)
})

test('buckets that moved can move back, and away again', async () => {
  const driver = await memoryShards(2).connect()
  const store = await filledStore(driver, 300)
  for (const [from, to] of [
    [0, 1],
    [1, 0],
    [0, 1],
  ] as const) {
    await store.put({
      user: 'new',
      rank: from,
      tags: [],
      name: `new ${from} ${Math.random()}`,
      group: 'g',
      title: 't',
    })
    await moveBuckets(store, { from, to, buckets: SOME_BUCKETS })
    const fresh = await openStore(driver)
    expect(await contentsOf(fresh)).toEqual(await contentsOf(store))
    expect(await rowsAt(fresh, from, SOME_BUCKETS)).toBe(0)
    await checkQueries(fresh)
  }
  const fresh = await openStore(driver)
  await checkIndexes(fresh)
})

test('two movers at once work on one move, one after the other, and both report it as done', async () => {
  const driver = await memoryShards(2).connect()
  const store = await filledStore(driver, 300)
  const other = await openStore(driver, leapingTime())
  const before = await contentsOf(store)
  const plan = { from: 0, to: 1, buckets: SOME_BUCKETS }
  const reports = await Promise.all([moveBuckets(store, plan), moveBuckets(other, plan), resumeMoves(other)])
  expect(reports.flat().map(({ state }) => state)).toEqual(reports.flat().map(() => 'done'))
  const fresh = await openStore(driver)
  expect(await contentsOf(fresh)).toEqual(before)
  await checkQueries(fresh)
  await checkIndexes(fresh)
})

test('a call that waits for another mover names the process that has the move, once', async () => {
  const driver = await memoryShards(2).connect()
  const store = await filledStore(driver, 300)
  const other = await openStore(driver, leapingTime())
  const plan = { from: 0, to: 1, buckets: SOME_BUCKETS }
  const waits: MoveReport[] = []
  let waiting: Promise<unknown> | undefined
  await moveBuckets(store, plan, {
    // The other call begins when this one has the move, and looks at it many times until it is over.
    onProgress: () => (waiting ??= resumeMoves(other, { onWait: (move) => waits.push(move) })),
  })
  await waiting
  expect(waits).toEqual([
    expect.objectContaining({ ...plan, holder: expect.objectContaining({ worker: processName }) }),
  ])
})

test('a write of a process that does not know of the move lands on the new shard', async () => {
  const driver = await memoryShards(2).connect()
  const store = await filledStore(driver, 100)
  const stale = await openStore(driver, leapingTime())
  const isIn = entitiesIn(store.context, SOME_BUCKETS)
  const id = [...(await contentsOf(store)).keys()].find((each) => isIn(parseId(each as never)))!
  await moveBuckets(store, { from: 0, to: 1, buckets: SOME_BUCKETS })
  await stale.put({ ...itemOf(7), id: id as never, name: 'changed', title: 'changed' })
  expect(await entityOn(store, 0, id)).toBe(false)
  expect(await entityOn(store, 1, id)).toBe(true)
  expect(await (await openStore(driver)).get(id as never)).toMatchObject({ title: 'changed' })
})

async function entityOn(store: DataStore, shard: number, id: string): Promise<boolean> {
  return (await shardAt(store.context, shard).entities.exist([parseId(id as never)]))[0]!
}

const TWO_SHARDS = 'from and to are the numbers of two shards, below 2, that were not removed'
const RANGES = 'buckets are ascending ranges below 4096, such as 0-76,97'

test.each([
  [{ from: 0, to: 0, buckets: '1' }, `${TWO_SHARDS}; got 0 and 0`],
  [{ from: 0, to: 2, buckets: '1' }, `${TWO_SHARDS}; got 0 and 2`],
  [{ from: '0', to: 1, buckets: '1' }, `${TWO_SHARDS}; got a string of 1 character and 1`],
  [{ from: 0, to: 1, buckets: '' }, `${RANGES}; got ""`],
  [{ from: 0, to: 1, buckets: '7-3' }, `${RANGES}; got "7-3"`],
  [{ from: 0, to: 1, buckets: '4096' }, `${RANGES}; got "4096"`],
  [{ from: 0, to: 1, buckets: '7,4096' }, `${RANGES}; got "7,4096"`],
  [{ from: 0, to: 1, buckets: 7 }, `${RANGES}; got 7`],
  [{ from: 0, to: 1 }, `${RANGES}; got nothing`],
  [{ from: 0, to: 1, buckets: '2000-2050' }, 'shard 0 does not have 3 of these buckets'],
])('the plan %j is BAD_OPTION, and no move is announced', async (plan, message) => {
  const store = await openStore(await memoryShards(2).connect(), leapingTime())
  await expect(moveBuckets(store, plan as never)).rejects.toMatchObject({
    code: 'BAD_OPTION',
    message: `This move is not possible: ${message}.`,
  })
  expect(await movesOf(store)).toEqual([])
})

test('a plan without one of its properties names the property that it has instead', async () => {
  const store = await openStore(await memoryShards(2).connect(), leapingTime())
  const message = 'A move has no option "bucket"; there are from, to, buckets.'
  const plan = { from: 0, to: 1, bucket: '1' } as never
  await expect(store.shards.move(plan)).rejects.toMatchObject({ code: 'BAD_OPTION', message })
  await expect(store.shards.plan(plan)).rejects.toMatchObject({ code: 'BAD_OPTION', message })
  await expect(store.shards.move(undefined as never)).rejects.toMatchObject({
    code: 'BAD_OPTION',
    message: 'A move takes options as an object; got nothing.',
  })
})

test('a counted move of a plan, which has more properties, is a plan itself', async () => {
  const store = await openStore(await memoryShards(2).connect(), leapingTime())
  const { moves } = await store.shards.plan({ from: 0, to: 1, buckets: '1' })
  expect(await store.shards.move(moves[0]!)).toMatchObject({ state: 'done', buckets: '1' })
})

test('a lease of a move that is shorter than three seconds is BAD_OPTION, and no move is announced', async () => {
  const store = await openStore(await memoryShards(2).connect(), leapingTime())
  const message = 'has to be a number of milliseconds from 3000 to 300000; got 2999.'
  const plan = { from: 0, to: 1, buckets: '1' }
  await expect(store.shards.move(plan, { leaseMs: 2_999 })).rejects.toMatchObject({
    code: 'BAD_OPTION',
    message: expect.stringContaining(message),
  })
  expect(await movesOf(store)).toEqual([])
})

test('an undo of a number that no move has is BAD_OPTION', async () => {
  const store = await openStore(await memoryShards(2).connect(), leapingTime())
  await expect(undoMove(store, 3)).rejects.toMatchObject({
    code: 'BAD_OPTION',
    message: 'The store has no move 3, or it is over. shards.moves lists the others.',
  })
})
