import { LooseleafError } from '@looseleaf/core'
import { unionOfRanges, type ShardServes } from '@looseleaf/core/internal'
import { emptySources, openMoves } from '@looseleaf/mover/internal'
import { emptySource, entitiesIn, undoMove, type MoveWork } from '@looseleaf/protocol/internal'
import { beforeEach, expect, test } from 'vitest'
import { announcedMove, BUCKETS, OWNED, type AnnouncedMove } from './announced-move.ts'
import { endWithout, entitiesOn, fillBuckets, loseEnd, rowsIn } from './ended-move.ts'

const DOWN = new LooseleafError('SHARD_UNAVAILABLE', 'It is down.')
const NOTHING = { entities: 0, rows: 0, awaits: [] }

let moving: AnnouncedMove
let work: MoveWork
let statements: number
/** Places in shard 0 behind which entities were read. */
let pagesRead: number[]
/** Number of a shard whose table of tasks cannot be read. */
let silent: number | undefined
/** Runs once, before the next delete of entities at shard 1. */
let beforeDiscard: (() => Promise<void>) | undefined
/** Runs once, before the next raise of the floor of shard 0. */
let beforeRaise: (() => Promise<void>) | undefined

beforeEach(async () => {
  silent = beforeRaise = beforeDiscard = undefined
  pagesRead = []
  moving = await announcedMove(({ shard, table, operation, args }) => {
    if (shard === 0 && operation === 'pageByAdded') pagesRead.push(args[0] as number)
    if (shard === 0 && operation === 'raiseFloor' && beforeRaise !== undefined) {
      const before = beforeRaise
      beforeRaise = undefined
      return { before }
    }
    if (shard === 1 && operation === 'discard' && beforeDiscard !== undefined) {
      const before = beforeDiscard
      beforeDiscard = undefined
      return { before }
    }
    return shard === silent && table === 'tasks' ? { before: () => Promise.reject(DOWN) } : undefined
  })
  statements = 0
  work = { ...moving.work, onStatement: async () => void statements++ }
})

test('a source deletes the entities and rows of its buckets, and joins their records', async () => {
  const { entities } = await fillBuckets(moving, 20)
  const other = { move: 9, attempt: 1, buckets: '100-101', to: 2, end: 3 }
  await moving.setServes(0, { owns: OWNED[0], away: [other] })
  const last = await endWithout(moving)
  const before = await rowsIn(moving, 0)
  const emptied = await emptySource(work)
  expect(emptied).toEqual({ entities, rows: before - (await rowsIn(moving, 0)), awaits: [] })
  expect(emptied.rows).toBeGreaterThan(0)
  expect(await entitiesOn(moving, 0)).toBe(0)
  expect(statements).toBeGreaterThan(2)
  expect((await moving.servesOf(0)).away).toEqual([
    other,
    { move: 1, attempt: last, buckets: BUCKETS, to: 1, end: 9, emptied: expect.any(Number) },
  ])
  const floorOf = async (): Promise<number> => (await moving.driver.shards[0]!.entities.floor()).floor
  const [epoch, floor] = [await moving.epochOf(0), await floorOf()]
  expect(await emptySource(work)).toEqual(NOTHING)
  expect([await moving.epochOf(0), await floorOf()]).toEqual([epoch, floor])
})

test('the deletes of a source go on after each change of its catalog from where they were, and count all rows', async () => {
  const { entities } = await fillBuckets(moving, 20)
  await endWithout(moving)
  const before = await rowsIn(moving, 0)
  const { addedId: last } = (await moving.driver.shards[0]!.entities.pageByAdded(0, 10_000)).at(-1)!
  pagesRead = []
  const onStatement = async (): Promise<void> => moving.setServes(0, await moving.servesOf(0))
  const emptied = await emptySource({ ...work, onStatement })
  expect(emptied).toEqual({ entities, rows: before - (await rowsIn(moving, 0)), awaits: [] })
  expect(await entitiesOn(moving, 0)).toBe(0)
  // No page of entities is read again, because the entities before it are gone.
  expect(pagesRead.filter((after) => after === 0)).toHaveLength(1)
  expect(new Set(pagesRead)).toEqual(new Set([0, last]))
})

test('the deletes of a source begin again when a bucket that it had again has left once more', async () => {
  await fillBuckets(moving, 20)
  await endWithout(moving)
  const { owns } = await moving.servesOf(0)
  await moving.setServes(0, { ...(await moving.servesOf(0)), owns: unionOfRanges(owns, '0-3') })
  // The bucket leaves when the entities of the others are deleted.
  const onStatement = async (): Promise<void> => {
    const serves = await moving.servesOf(0)
    if (pagesRead.length > 0 && serves.owns !== owns) await moving.setServes(0, { ...serves, owns })
  }
  pagesRead = []
  await emptySource({ ...work, onStatement })
  expect(await entitiesOn(moving, 0)).toBe(0)
})

test('the source of a move whose announcement has not ended is left alone', async () => {
  await fillBuckets(moving, 5)
  expect(await emptySources(work.context, {})).toEqual([])
  expect(await entitiesOn(moving, 0)).toBe(5)
  expect(await moving.servesOf(0)).toEqual({ owns: OWNED[0] })
})

test('a move whose announcement has ended is open before a later one that is announced', async () => {
  await endWithout(moving)
  await moving.setMoves([{ id: 6, from: 1, to: 2, buckets: '2000', phase: 'both' }])
  const open = await openMoves(work.context, {})
  expect(open.map(({ move }) => move.id)).toEqual([1, 6])
})

test('a source keeps its rows while a shard that may know a consumer does not answer', async () => {
  await fillBuckets(moving, 5)
  await endWithout(moving)
  silent = 2
  await expect(emptySource(work)).rejects.toBe(DOWN)
  expect(await entitiesOn(moving, 0)).toBe(5)
  silent = undefined
  expect(await emptySource(work)).toMatchObject({ entities: 5 })
})

test('a mover leaves the record of another one that is emptying the source already', async () => {
  await fillBuckets(moving, 5)
  await endWithout(moving)
  let first: ShardServes | undefined
  beforeRaise = async () => {
    await emptySource(work)
    first = await moving.servesOf(0)
  }
  expect(await emptySource(work)).toEqual(NOTHING)
  // A follower that began between the two floors takes the copies, because the rows were being deleted.
  expect(first?.away).toMatchObject([{ emptied: expect.any(Number) as number }])
  expect(await moving.servesOf(0)).toEqual(first)
})

test('a source keeps the buckets that have come back or are announced to come, but none of other moves or of an earlier one that was undone', async () => {
  await fillBuckets(moving, 20)
  await endWithout(moving)
  const serves = await moving.servesOf(0)
  const isKept = entitiesIn(work.context, '0-4')
  const page = await moving.driver.shards[0]!.entities.pageByAdded(0, 10_000)
  const kept = page.filter(({ id }) => isKept(id)).length
  // 0 and 1 are its own again, 2 and 3 are coming, and 4 is announced to come. 5 was coming by a move that was undone, and 6 is in a move between others.
  await moving.setServes(0, {
    ...serves,
    owns: `0-1,${serves.owns}`,
    coming: [
      { move: 5, attempt: 1, buckets: '2-3', from: 1, afterAddedId: 0 },
      { move: work.move.id - 1, attempt: 1, buckets: '5', from: 1, afterAddedId: 0 },
    ],
  })
  await moving.setMoves([
    { id: 6, from: 1, to: 0, buckets: '4', phase: 'both' },
    { id: 7, from: 1, to: 2, buckets: '6', phase: 'both' },
  ])
  expect(await emptySource(work)).toMatchObject({ entities: 20 - kept })
  expect(await entitiesOn(moving, 0)).toBe(kept)
  await moving.setMoves([{ id: 6, from: 1, to: 0, buckets: BUCKETS, phase: 'both' }])
  pagesRead = []
  expect(await emptySource(work)).toEqual(NOTHING)
  expect(pagesRead).toEqual([])
})

test('an undo deletes the copies at the target, and the records of the attempt', async () => {
  await fillBuckets(moving, 20)
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
  expect(await entitiesOn(moving, 1)).toBe(20)
  const other = { move: 9, attempt: 1, buckets: '2800', from: 2, afterAddedId: 0 }
  await moving.setServes(1, {
    ...(await moving.servesOf(1)),
    coming: [...(await moving.servesOf(1)).coming!, other],
  })
  expect(await undoMove(work)).toMatchObject({ entities: 20 })
  expect(await entitiesOn(moving, 1)).toBe(0)
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

test('an undo deletes the copies although the target loses the end of the move meanwhile', async () => {
  await fillBuckets(moving, 20)
  await moving.begin()
  const { entities } = moving.driver.shards[1]!
  const isIn = entitiesIn(work.context, BUCKETS)
  const page = await moving.driver.shards[0]!.entities.pageOfChanges(
    { after: { updated: 0, addedId: 0 } },
    1_000,
  )
  const { epoch, floor } = await entities.floor()
  await entities.receive(
    page.filter(({ id }) => isIn(id)).map(({ id, version, body }) => ({ id, version, body: body ?? null })),
    { epoch, updated: floor },
  )
  beforeDiscard = () => loseEnd(moving, 1, 'undoing')
  expect(await undoMove(work)).toMatchObject({ entities: 20 })
  expect(beforeDiscard).toBeUndefined()
  expect(await entitiesOn(moving, 1)).toBe(0)
  expect((await moving.servesOf(1)).coming).toBeUndefined()
})

test('a move that is done is open again once its source has lost the record of its deletes', async () => {
  await fillBuckets(moving, 5)
  await endWithout(moving)
  const serves = await moving.servesOf(0)
  expect(await emptySources(work.context, {})).toMatchObject([{ id: 1, state: 'done' }])
  expect(await openMoves(work.context, {})).toEqual([])
  await moving.setServes(0, serves)
  expect(await openMoves(work.context, {})).toMatchObject([{ move: { id: 1 }, phase: undefined }])
  expect(await emptySources(work.context, {})).toMatchObject([{ id: 1, state: 'done' }])
  expect((await moving.servesOf(0)).away).toMatchObject([{ emptied: expect.any(Number) as number }])
})
