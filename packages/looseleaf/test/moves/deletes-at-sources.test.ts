import { LooseleafError } from '@looseleaf/core'
import { tableSpec } from '@looseleaf/index-engine/internal'
import {
  createThrottle,
  editTask,
  emptySource,
  entitiesIn,
  partitionNumbers,
  partitionTask,
  REGISTRY_TASK,
  registryToText,
  type MoveWork,
} from '@looseleaf/protocol/internal'
import type { Fault, FaultyCall } from '@looseleaf/testkit'
import { beforeEach, expect, test } from 'vitest'
import { announcedMove, BUCKETS, OWNED, type AnnouncedMove } from './announced-move.ts'
import { endWithout, entitiesOn, fillBuckets, loseEnd, rowsIn } from './ended-move.ts'

let moving: AnnouncedMove
let work: MoveWork
/** Faults of the calls on shard 0. */
let plan: (call: FaultyCall) => Fault | undefined
/** Faults of the calls on shard 2, which has no part in the move. */
let elsewhere: (call: FaultyCall) => Fault | undefined

beforeEach(async () => {
  plan = () => undefined
  elsewhere = () => undefined
  moving = await announcedMove((call) =>
    call.shard === 0 ? plan(call) : call.shard === 2 ? elsewhere(call) : undefined,
  )
  work = moving.work
})

/** Saves the records of a consumer that has handled no change of shard 0. */
async function registerConsumer(name: string): Promise<void> {
  const records = new Map([
    [
      REGISTRY_TASK,
      registryToText(new Map([[name, { incarnation: 'first', at: 1, begun: [0, 0, 0], floors: [0, 0, 0] }]])),
    ],
    ...partitionNumbers.map((number): [string, string] => [
      partitionTask(name, number),
      JSON.stringify({ incarnation: 'first', updated: 0, since: 0, failing: [] }),
    ]),
  ])
  const { tasks } = moving.driver.shards[0]!
  for (const [task, text] of records)
    expect(await editTask(tasks, task, () => text, { owner: 'test', signal: undefined })).toBe(true)
}

test('a source is emptied page by page, and the lease of the move is kept between all statements', async () => {
  const { entities } = await fillBuckets(moving, 12)
  await endWithout(moving)
  const page = 5
  const before = await rowsIn(moving, 0)
  const sent = { discard: 0, remove: 0 }
  let overlaps = 0
  let isNoted = true
  let statements = 0
  plan = ({ table, operation }) => {
    if (!isNoted) overlaps++
    if (operation === 'discard') sent.discard++
    if (operation === 'remove' && table !== 'pending') sent.remove++
    return undefined
  }
  const onStatement = async (): Promise<void> => {
    statements++
    isNoted = false
    await new Promise((resolve) => setImmediate(resolve))
    isNoted = true
  }
  const sizes = await Promise.all(
    work.context.catalog.current().indexes.map(async (entry) => {
      const table = moving.driver.shards[0]!.index(tableSpec(entry))
      return (await table.scan({ prefix: [], order: 'asc', limit: 10_000 })).length
    }),
  )
  const throttle = createThrottle(work.context.time, page)
  const emptied = await emptySource({ ...work, throttle, onStatement })
  expect(emptied).toEqual({ entities, rows: before - (await rowsIn(moving, 0)), awaits: [] })
  const pages = [entities, ...sizes].reduce((sum, size) => sum + Math.ceil(size / page), 0)
  expect(sent.discard).toBeGreaterThan(2)
  expect(sent.remove).toBeGreaterThan(2)
  expect(statements).toBe(pages + sent.discard + sent.remove)
  expect(overlaps).toBe(0)
})

test('a source is emptied although an index is dropped meanwhile, and rejects with other errors', async () => {
  await fillBuckets(moving, 5)
  await endWithout(moving)
  const [dropped] = work.context.catalog.current().indexes.map(({ table }) => table)
  const before = await rowsIn(moving, 0)
  let error = new LooseleafError('SHARD_DENIED', 'The server denies it.')
  plan = ({ operation, table }) =>
    operation === 'scan' && table === dropped ? { before: () => Promise.reject(error) } : undefined
  await expect(emptySource(work)).rejects.toBe(error)
  error = new LooseleafError('INDEX_NOT_FOUND', 'The index was dropped.')
  // Without a lease to keep.
  expect(await emptySource(moving.work)).toEqual({
    entities: 0,
    rows: before - (await rowsIn(moving, 0)),
    awaits: [],
  })
  expect(await rowsIn(moving, 0)).toBeLessThan(before)
})

test('a source keeps the pending rows of other buckets', async () => {
  await fillBuckets(moving, 1)
  await endWithout(moving)
  const isOther = entitiesIn(work.context, '10-1365')
  let entityId = work.context.router.newId()
  while (!isOther(entityId)) entityId = work.context.router.newId()
  const { pending } = moving.driver.shards[0]!
  await pending.add([{ entityId, table: 'index_by_user', version: 1 }], { epoch: await moving.epochOf(0) })
  expect(await emptySource(moving.work)).toMatchObject({ entities: 1 })
  expect(await pending.page({ limit: 10 })).toHaveLength(1)
})

test('a source keeps its entities if the target has lost them', async () => {
  await fillBuckets(moving, 5)
  await endWithout(moving)
  await moving.setServes(1, { owns: OWNED[1] })
  await expect(emptySource(work)).rejects.toMatchObject({
    code: 'CONFLICT',
    message: expect.stringContaining('are on no shard') as string,
  })
  expect(await entitiesOn(moving, 0)).toBe(5)
})

test('a source gets no record of deletes if all of its buckets have come back before it is written', async () => {
  await fillBuckets(moving, 5)
  await endWithout(moving)
  const serves = await moving.servesOf(0)
  let isBack = false
  plan = ({ operation }) => {
    if (operation !== 'raiseFloor' || isBack) return undefined
    isBack = true
    return { before: () => moving.setServes(0, { ...serves, owns: OWNED[0] }) }
  }
  expect(await emptySource(work)).toEqual({ entities: 0, rows: 0, awaits: [] })
  expect((await moving.servesOf(0)).away).toEqual(serves.away)
  expect(await entitiesOn(moving, 0)).toBe(5)
})

test('a source whose record of deletes a crash undoes gets another one before they go on', async () => {
  await fillBuckets(moving, 5)
  await endWithout(moving)
  const serves = await moving.servesOf(0)
  await moving.setServes(0, { ...serves, away: serves.away!.map((record) => ({ ...record, emptied: 1 })) })
  const records: unknown[] = []
  let isUndone = false
  plan = ({ operation }) => {
    if (operation === 'flush' && !isUndone) {
      isUndone = true
      return { before: () => moving.setServes(0, serves) }
    }
    if (operation !== 'discard') return undefined
    return {
      async before() {
        for (const { emptied } of (await moving.servesOf(0)).away!) records.push(emptied)
      },
    }
  }
  expect(await emptySource(work)).toMatchObject({ entities: 5 })
  expect(records).toEqual([expect.any(Number)])
})

test('a source that loses its deletes and the record of them gets another one, and deletes everything again', async () => {
  await fillBuckets(moving, 12)
  await endWithout(moving)
  const serves = await moving.servesOf(0)
  const { entities } = moving.driver.shards[0]!
  const isIn = entitiesIn(work.context, BUCKETS)
  const all = await entities.pageOfChanges({ after: { updated: 0, addedId: 0 } }, 1_000)
  const rows = all
    .filter(({ id }) => isIn(id))
    .map(({ id, version, body }) => ({ id, version, body: body ?? null }))
  const records: unknown[] = []
  let discards = 0
  plan = ({ operation }) => {
    if (operation !== 'discard') return undefined
    return {
      async before() {
        if (++discards !== 2) return void records.push((await moving.servesOf(0)).away![0]!.emptied)
        await moving.setServes(0, serves)
        const { floor } = await entities.floor()
        await entities.receive(rows, { epoch: await moving.epochOf(0), updated: floor })
      },
    }
  }
  const throttle = createThrottle(work.context.time, 5)
  expect(await emptySource({ ...work, throttle })).toMatchObject({ entities: 12 })
  expect(await entitiesOn(moving, 0)).toBe(0)
  const [first, second] = new Set(records)
  expect(records).toHaveLength(discards - 1)
  expect(second).toBeGreaterThan(first as number)
  expect((await moving.servesOf(0)).away).toMatchObject([{ emptied: second }])
})

test('a source that loses the end of its move in the middle of the deletes gets it again', async () => {
  await fillBuckets(moving, 12)
  await endWithout(moving)
  let isLost = false
  plan = ({ operation }) => {
    if (operation !== 'discard' || isLost) return undefined
    isLost = true
    return { before: () => loseEnd(moving, 0, 'target') }
  }
  expect(await emptySource(work)).toMatchObject({ entities: 12 })
  expect(isLost).toBe(true)
  expect(await entitiesOn(moving, 0)).toBe(0)
})

test('a source that loses the end of its move before its record is written rejects, and is emptied by the next call', async () => {
  await fillBuckets(moving, 1)
  await endWithout(moving)
  let isLost = false
  plan = ({ operation }) => {
    if (operation !== 'raiseFloor' || isLost) return undefined
    isLost = true
    return { before: () => loseEnd(moving, 0, 'target') }
  }
  await expect(emptySource(work)).rejects.toMatchObject({
    code: 'STALE_EPOCH',
    retryable: true,
    message: expect.stringContaining('has lost the end of the move') as string,
  })
  expect(await entitiesOn(moving, 0)).toBe(1)
  expect(await emptySource(work)).toMatchObject({ entities: 1 })
})

test('a source goes on with its deletes after a change of its catalog although an unrelated shard takes no writes', async () => {
  await fillBuckets(moving, 12)
  await endWithout(moving)
  let isReadOnly = false
  const readOnly = new LooseleafError('SHARD_UNAVAILABLE', 'It takes no writes.')
  elsewhere = ({ operation }) =>
    isReadOnly && operation === 'flush' ? { before: () => Promise.reject(readOnly) } : undefined
  plan = ({ operation }) => {
    if (operation !== 'discard' || isReadOnly) return undefined
    isReadOnly = true
    return { before: async () => moving.setServes(0, await moving.servesOf(0)) }
  }
  expect(await emptySource(work)).toMatchObject({ entities: 12 })
  expect(isReadOnly).toBe(true)
})

test('a source that loses the record of its deletes keeps what a consumer has to read again', async () => {
  await fillBuckets(moving, 12)
  await endWithout(moving)
  const serves = await moving.servesOf(0)
  let isLost = false
  plan = ({ operation }) => {
    if (operation !== 'discard' || isLost) return undefined
    isLost = true
    return {
      async before() {
        await moving.setServes(0, serves)
        await registerConsumer('mail')
      },
    }
  }
  expect(await emptySource(work)).toEqual({ entities: 0, rows: 0, awaits: ['mail'] })
  expect(await entitiesOn(moving, 0)).toBe(12)
  expect(await moving.servesOf(0)).toEqual(serves)
})
