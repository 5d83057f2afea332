import { LooseleafError, parseId, type EntityId } from '@looseleaf/core'
import { unionOfRanges, type ShardServes } from '@looseleaf/core/internal'
import { tableSpec } from '@looseleaf/index-engine/internal'
import { emptySources, openMoves } from '@looseleaf/mover/internal'
import {
  announceTarget,
  beginTarget,
  emptySource,
  endMove,
  entitiesIn,
  handOver,
  seal,
  undoMove,
  type MoveWork,
} from '@looseleaf/protocol/internal'
import { DataStore } from '@looseleaf/store'
import { keepOpen } from '@looseleaf/testkit'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { announcedMove, BUCKETS, OWNED, type AnnouncedMove } from './announced-move.ts'
import { indexes, itemOf } from './stores.ts'

const DOWN = new LooseleafError('SHARD_UNAVAILABLE', 'It is down.')

let moving: AnnouncedMove
let work: MoveWork
let statements: number
/** Places in shard 0 behind which entities were read. */
let pagesRead: number[]
/** Number of a shard whose table of tasks cannot be read. */
let silent: number | undefined
/** Runs once, before the next raise of the floor of shard 0. */
let beforeRaise: (() => Promise<void>) | undefined

beforeEach(async () => {
  silent = beforeRaise = undefined
  pagesRead = []
  moving = await announcedMove(({ shard, table, operation, args }) => {
    if (shard === 0 && operation === 'pageByAdded') pagesRead.push(args[0] as number)
    if (shard === 0 && operation === 'raiseFloor' && beforeRaise !== undefined) {
      const before = beforeRaise
      beforeRaise = undefined
      return { before }
    }
    return shard === silent && table === 'tasks' ? { before: () => Promise.reject(DOWN) } : undefined
  })
  statements = 0
  work = { ...moving.work, onStatement: async () => void statements++ }
})

/** Puts entities of the move's buckets, and of others, and deletes one. Returns the number of rows of each kind in the buckets. */
async function fillBuckets(count: number): Promise<{ readonly entities: number; readonly rows: number }> {
  const store = await DataStore.open({ shards: keepOpen(moving.driver), indexes, time: leapingTime() })
  onTestFinished(() => store.close())
  const isIn = entitiesIn(store.context, BUCKETS)
  const ids: EntityId[] = []
  while (ids.length < count) {
    const id = store.newId()
    if (isIn(parseId(id))) ids.push(id)
  }
  await store.putMany(ids.map((id, n) => ({ ...itemOf(n), id })))
  await store.delete(ids[0]!)
  await store.settled()
  return { entities: count, rows: await rowsIn(0) }
}

/** Counts the index rows and claims of a shard that belong to the entities. */
async function rowsIn(shard: number): Promise<number> {
  const { indexes: entries } = work.context.catalog.current()
  const counts = await Promise.all(
    entries.map((entry) =>
      moving.driver.shards[shard]!.index(tableSpec(entry)).scan({ prefix: [], order: 'asc', limit: 10_000 }),
    ),
  )
  return counts.flat().length
}

async function entitiesOn(shard: number): Promise<number> {
  const isIn = entitiesIn(work.context, BUCKETS)
  const page = await moving.driver.shards[shard]!.entities.pageByAdded(0, 10_000)
  return page.filter(({ id }) => isIn(id)).length
}

/** Hands both halves of the buckets over and ends the move, without copies. Returns the number of the last attempt. */
async function endWithout(): Promise<number> {
  let last = 0
  for (const [group, end] of [
    ['0-3', 9],
    ['4-9', 7],
  ] as const) {
    const attempt = await moving.begin()
    last = attempt.attempt
    const sealed = await seal(work, { ...attempt, buckets: BUCKETS }, group)
    await handOver(work, attempt, group, sealed, { end, last: undefined })
    await beginTarget(work.context, 1)
  }
  await announceTarget(work)
  await endMove(work)
  return last
}

test('a source deletes the entities and rows of its buckets, and joins their records', async () => {
  const { entities } = await fillBuckets(20)
  const other = { move: 9, attempt: 1, buckets: '100-101', to: 2, end: 3 }
  await moving.setServes(0, { owns: OWNED[0], away: [other] })
  const last = await endWithout()
  const before = await rowsIn(0)
  const emptied = await emptySource(work)
  expect(emptied).toEqual({ entities, rows: before - (await rowsIn(0)) })
  expect((emptied as { rows: number }).rows).toBeGreaterThan(0)
  expect(await entitiesOn(0)).toBe(0)
  expect(statements).toBeGreaterThan(2)
  expect((await moving.servesOf(0)).away).toEqual([
    other,
    { move: 1, attempt: last, buckets: BUCKETS, to: 1, end: 9, emptied: expect.any(Number) },
  ])
  const floorOf = async (): Promise<number> => (await moving.driver.shards[0]!.entities.floor()).floor
  const [epoch, floor] = [await moving.epochOf(0), await floorOf()]
  expect(await emptySource(work)).toEqual({ entities: 0, rows: 0 })
  expect([await moving.epochOf(0), await floorOf()]).toEqual([epoch, floor])
})

test('the deletes of a source go on after each change of its catalog from where they were, and count all rows', async () => {
  const { entities } = await fillBuckets(20)
  await endWithout()
  const before = await rowsIn(0)
  pagesRead = []
  const onStatement = async (): Promise<void> => moving.setServes(0, await moving.servesOf(0))
  const emptied = await emptySource({ ...work, onStatement })
  expect(emptied).toEqual({ entities, rows: before - (await rowsIn(0)) })
  expect(await entitiesOn(0)).toBe(0)
  // No page of entities is read again, because the entities before it are gone.
  expect(pagesRead.filter((after) => after === 0)).toHaveLength(1)
  expect(pagesRead.length).toBeGreaterThan(1)
})

test('the deletes of a source begin again when a bucket that it had again has left once more', async () => {
  await fillBuckets(20)
  await endWithout()
  const { owns } = await moving.servesOf(0)
  await moving.setServes(0, { ...(await moving.servesOf(0)), owns: unionOfRanges(owns, '0-3') })
  // The bucket leaves when the entities of the others are deleted.
  const onStatement = async (): Promise<void> => {
    const serves = await moving.servesOf(0)
    if (pagesRead.length > 0 && serves.owns !== owns) await moving.setServes(0, { ...serves, owns })
  }
  pagesRead = []
  await emptySource({ ...work, onStatement })
  expect(await entitiesOn(0)).toBe(0)
})

test('the source of a move whose announcement has not ended is left alone', async () => {
  await fillBuckets(5)
  expect(await emptySources(work.context, {})).toEqual([])
  expect(await entitiesOn(0)).toBe(5)
  expect(await moving.servesOf(0)).toEqual({ owns: OWNED[0] })
})

test('a move whose announcement has ended is open before a later one that is announced', async () => {
  await endWithout()
  await moving.setMoves([{ id: 6, from: 1, to: 2, buckets: '2000', phase: 'both' }])
  const open = await openMoves(work.context, {})
  expect(open.map(({ move }) => move.id)).toEqual([1, 6])
})

test('a source keeps its rows while a shard that may know a consumer does not answer', async () => {
  await fillBuckets(5)
  await endWithout()
  silent = 2
  await expect(emptySource(work)).rejects.toBe(DOWN)
  expect(await entitiesOn(0)).toBe(5)
  silent = undefined
  expect(await emptySource(work)).toMatchObject({ entities: 5 })
})

test('a mover leaves the record of another one that is emptying the source already', async () => {
  await fillBuckets(5)
  await endWithout()
  let first: ShardServes | undefined
  beforeRaise = async () => {
    await emptySource(work)
    first = await moving.servesOf(0)
  }
  expect(await emptySource(work)).toEqual({ entities: 0, rows: 0 })
  // A follower that began between the two floors takes the copies, because the rows were being deleted.
  expect(first?.away).toMatchObject([{ emptied: expect.any(Number) as number }])
  expect(await moving.servesOf(0)).toEqual(first)
})

test('a source keeps the buckets that have come back, and those of another announced move, but none of an earlier one that was undone', async () => {
  await fillBuckets(20)
  await endWithout()
  const serves = await moving.servesOf(0)
  const isKept = entitiesIn(work.context, '0-4')
  const page = await moving.driver.shards[0]!.entities.pageByAdded(0, 10_000)
  const kept = page.filter(({ id }) => isKept(id)).length
  // 0 and 1 are its own again, 2 and 3 are coming, 4 is in a move between other shards, and 5 was coming by a move that was undone.
  await moving.setServes(0, {
    ...serves,
    owns: `0-1,${serves.owns}`,
    coming: [
      { move: 5, attempt: 1, buckets: '2-3', from: 1, afterAddedId: 0 },
      { move: work.move.id - 1, attempt: 1, buckets: '5', from: 1, afterAddedId: 0 },
    ],
  })
  await moving.setMoves([{ id: 6, from: 1, to: 2, buckets: '4', phase: 'both' }])
  expect(await emptySource(work)).toMatchObject({ entities: 20 - kept })
  expect(await entitiesOn(0)).toBe(kept)
  await moving.setMoves([{ id: 6, from: 1, to: 2, buckets: BUCKETS, phase: 'both' }])
  expect(await emptySource(work)).toBeUndefined()
})

test('an undo deletes the copies at the target, and the records of the attempt', async () => {
  await fillBuckets(20)
  const attempt = await moving.begin()
  const page = await moving.driver.shards[0]!.entities.pageOfChanges(
    { after: { updated: 0, addedId: 0 } },
    1_000,
  )
  const isIn = entitiesIn(work.context, BUCKETS)
  const rows = page.filter(({ id }) => isIn(id))
  const { epoch, floor } = await moving.driver.shards[1]!.entities.floor()
  await moving.driver.shards[1]!.entities.receive(
    rows.map(({ id, version, body }) => ({ id, version, body: body ?? null })),
    { epoch, updated: floor },
  )
  expect(attempt).toMatchObject({ buckets: BUCKETS, lost: '' })
  expect(await entitiesOn(1)).toBe(20)
  const other = { move: 9, attempt: 1, buckets: '2800', from: 2, afterAddedId: 0 }
  await moving.setServes(1, {
    ...(await moving.servesOf(1)),
    coming: [...(await moving.servesOf(1)).coming!, other],
  })
  expect(await undoMove(work)).toMatchObject({ entities: 20 })
  expect(await entitiesOn(1)).toBe(0)
  expect((await moving.servesOf(0)).leaving).toBeUndefined()
  expect((await moving.servesOf(1)).coming).toEqual([other])
  expect((await moving.servesOf(0)).owns).toBe(OWNED[0])
  const { layout } = await work.context.catalog.reload()
  expect(layout!.moves).toEqual([])
  // It may be repeated, and does not wait then.
  const { time } = work.context
  const before = [await moving.epochOf(0), await moving.epochOf(1), time.now()]
  expect(await undoMove(work)).toEqual({ entities: 0, rows: 0 })
  expect([await moving.epochOf(0), await moving.epochOf(1), time.now()]).toEqual(before)
})
