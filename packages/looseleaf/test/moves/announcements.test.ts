import { LooseleafError, type Driver } from '@looseleaf/core'
import type { AwayBuckets, LayoutMove, StoreLayout } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { changeCatalogContents, changeServes, loadShardCatalog } from '@looseleaf/index-engine/internal'
import {
  announceMove,
  announceDraining,
  announceTarget,
  completeAnnouncement,
  endMove,
  objectionsTo,
  withdrawDraining,
  type MoveWork,
  type PlannedMove,
} from '@looseleaf/protocol/internal'
import { moduloRouter } from '@looseleaf/router'
import { DataStore } from '@looseleaf/store'
import { faultyDriver } from '@looseleaf/testkit'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { layoutAt, replaceMoves } from './layouts.ts'
import { openStore } from './stores.ts'

const PLAN = { from: 0, to: 1, buckets: '0-9' }

let driver: Driver
let store: DataStore

beforeEach(async () => {
  driver = await memoryShards(3).connect()
  store = await openStore(driver)
})
afterEach(async () => {
  await store.close()
  await driver.close()
})

const layoutOf = (number: number): Promise<StoreLayout> => layoutAt(driver, number)

async function setState(number: number, state: 'joining' | 'removed'): Promise<void> {
  await changeCatalogContents(driver, ({ layout, ...contents }) => {
    const shards = layout!.shards.with(number, { ...layout!.shards[number]!, state })
    return { ...contents, layout: { ...layout!, revision: 1, shards } }
  })
}

const setMoves = (moves: readonly LayoutMove[], revision = 1): Promise<void> =>
  replaceMoves(driver, moves, revision)

async function objections(plan: PlannedMove): Promise<readonly string[]> {
  return (await objectionsTo(store.context, plan)).map(({ code, message }) => `${code}: ${message}`)
}

test('an announced move gets the next revision as its number, on every shard', async () => {
  expect(await announceMove(store.context, PLAN)).toEqual({ id: 1, ...PLAN, phase: 'both' })
  const other = { from: 1, to: 2, buckets: '1400,1402-1403' }
  // Ranges in any order are taken, and their normal form is announced.
  expect(await announceMove(store.context, { ...other, buckets: '1400,1402,1403' })).toEqual({
    id: 2,
    ...other,
    phase: 'both',
  })
  for (const number of [0, 1, 2])
    expect(await layoutOf(number)).toMatchObject({ revision: 2, moves: [{ id: 1 }, { id: 2, ...other }] })
  expect(store.context.catalog.current().layout).toEqual(await layoutOf(0))
})

test('an announcement changes each catalog once, and flushes it before it looks at it and after the change', async () => {
  const calls: string[] = []
  const watched = await openStore(
    faultyDriver(driver, ({ shard, operation }) => {
      if (operation === 'change' || operation === 'flush') calls.push(`${operation} ${shard}`)
      return undefined
    }),
  )
  calls.length = 0
  await announceMove(watched.context, PLAN)
  const flushes = ['flush 0', 'flush 1', 'flush 2']
  expect(calls.slice(0, 3).toSorted()).toEqual(flushes)
  expect(calls.slice(3).toSorted()).toEqual(['change 0', 'change 1', 'change 2', ...flushes])
  await watched.close()
})

test('a move gets a number above those of all moves of which a shard has a record', async () => {
  const records = {
    coming: [{ move: 7, attempt: 1, buckets: '1400', from: 1, afterAddedId: 0 }],
    leaving: [{ move: 8, attempt: 1, buckets: '20', to: 1 }],
    away: [{ move: 9, attempt: 1, buckets: '2000', to: 1, end: 1 }],
  }
  for (const [i, kind] of (['coming', 'leaving', 'away'] as const).entries()) {
    const shard = driver.shards[0]!
    await changeServes(shard, (await loadShardCatalog(shard))!, { owns: '0-1365', [kind]: records[kind] })
    const plan = { ...PLAN, buckets: `${i}` }
    expect(await announceMove(store.context, plan)).toMatchObject({ id: 8 + i })
    expect(await layoutOf(2)).toMatchObject({ revision: 8 + i })
  }
})

test('a move is announced although a shard has come back from before layouts', async () => {
  const shard = driver.shards[2]!
  const { epoch, layout: _, ...old } = (await loadShardCatalog(shard))!
  await shard.catalog.change({ ...old, epoch: epoch + 1, contentsEpoch: epoch - 1 }, epoch)
  expect(await announceMove(store.context, PLAN)).toMatchObject({ id: 1 })
  expect(await layoutOf(2)).toMatchObject({ revision: 1, moves: [{ id: 1 }] })
})

test('a move of buckets that a shard gives up, after it was looked at, waits for the deletes there', async () => {
  const shard = driver.shards[0]!
  const away = { move: 1, attempt: 1, buckets: '0-9', to: 1, end: 1 }
  let isEnded: boolean | undefined
  const late = await openStore(
    faultyDriver(driver, ({ operation }) => {
      if (operation !== 'change' || isEnded !== false) return undefined
      isEnded = true
      return {
        // Moves of other processes bring the buckets away, and back to the shard that this plan names.
        async before() {
          await changeServes(shard, (await loadShardCatalog(shard))!, { owns: '10-1365', away: [away] })
          await setMoves([], 5)
        },
      }
    }),
  )
  onTestFinished(() => late.close())
  isEnded = false
  await expect(announceMove(late.context, PLAN)).rejects.toMatchObject({ code: 'CONFLICT' })
  expect(isEnded).toBe(true)
  expect((await layoutOf(0)).moves).toEqual([])
})

test('a move of buckets that a shard gives up between the looks at two shards waits for the deletes there', async () => {
  const away = { move: 1, attempt: 1, buckets: '0-9', to: 1, end: 1 }
  const looked = Promise.withResolvers<void>()
  let looks = 0
  let isEnded: boolean | undefined
  const late = await openStore(
    faultyDriver(driver, ({ shard, operation }) => {
      if (isEnded === undefined) return undefined
      // A look at a shard reads its catalog before and after a flush.
      if (shard === 0 && operation === 'load')
        return { after: () => void (++looks === 2 && looked.resolve()) }
      if (shard !== 2 || operation !== 'flush' || isEnded) return undefined
      isEnded = true
      return {
        async before() {
          await looked.promise
          const source = driver.shards[0]!
          await changeServes(source, (await loadShardCatalog(source))!, { owns: '10-1365', away: [away] })
          await setMoves([], 5)
        },
      }
    }),
  )
  onTestFinished(() => late.close())
  isEnded = false
  await expect(announceMove(late.context, PLAN)).rejects.toMatchObject({ code: 'CONFLICT' })
  expect(isEnded).toBe(true)
})

test('a move is not announced by a record of deletes that a crash undoes', async () => {
  const shard = driver.shards[0]!
  const away = { move: 1, attempt: 1, buckets: '0-9', to: 1, end: 1 }
  const setAway = async (records: readonly AwayBuckets[]): Promise<void> => {
    await changeServes(shard, (await loadShardCatalog(shard))!, { owns: '0-1365', away: records })
  }
  await setAway([{ ...away, emptied: 1 }])
  let isUndone = false
  const crashing = await openStore(
    faultyDriver(driver, ({ shard: number, operation }) => {
      if (number !== 0 || operation !== 'flush' || isUndone) return undefined
      isUndone = true
      return { before: () => setAway([away]) }
    }),
  )
  onTestFinished(() => crashing.close())
  isUndone = false
  await expect(announceMove(crashing.context, PLAN)).rejects.toMatchObject({ code: 'CONFLICT' })
  expect(isUndone).toBe(true)
})

test('a move that is announced already is announced once, and nothing speaks against it', async () => {
  const move = await announceMove(store.context, PLAN)
  await announceMove(store.context, { from: 1, to: 2, buckets: '1400' })
  expect(await announceMove(store.context, PLAN)).toEqual(move)
  expect(await objections(PLAN)).toEqual([])
  expect(await layoutOf(2)).toMatchObject({ revision: 2 })
})

test('the plan of a move that is being undone is refused until that is over', async () => {
  await setMoves([{ id: 1, ...PLAN, phase: 'undoing' }])
  const message =
    'Some of these buckets are in move 1, from shard 0 to shard 1, which is being undone. Try again when it is; shards.repair goes on with an undo that was interrupted.'
  expect(await objections(PLAN)).toEqual([`CONFLICT: ${message}`])
  await expect(announceMove(store.context, PLAN)).rejects.toMatchObject({ code: 'CONFLICT', message })
  await setMoves([])
  expect(await announceMove(store.context, PLAN)).toMatchObject({ id: 2, phase: 'both' })
})

test.each([
  { ...PLAN, to: 2 },
  { from: 2, to: 1, buckets: '0-9' },
  { ...PLAN, buckets: '5' },
  { ...PLAN, buckets: '0-1365' },
])('buckets of an announced move are in no other one: %j', async (plan) => {
  await announceMove(store.context, PLAN)
  const message =
    'Some of these buckets are in move 1, from shard 0 to shard 1. Wait until it has ended, or undo it.'
  expect(await objections(plan)).toContain(`CONFLICT: ${message}`)
  await expect(announceMove(store.context, plan)).rejects.toMatchObject({ code: 'CONFLICT', message })
})

test('other buckets can move beside an announced move', async () => {
  await announceMove(store.context, PLAN)
  expect(await objections({ ...PLAN, buckets: '10-20' })).toEqual([])
})

test.each([
  ['joining', 'shard 1 is joining the store. Add it again to finish that'],
  ['draining', 'shard 1 is being drained, so no bucket moves there. Stop the draining first'],
] as const)('no bucket moves to a shard in the state %s', async (state, reason) => {
  if (state === 'draining') await announceDraining(store.context, 1, {})
  else await setState(1, state)
  expect(await objections(PLAN)).toEqual([`BAD_OPTION: This move is not possible: ${reason}.`])
  expect(await objections({ from: 1, to: 2, buckets: '1400' })).toEqual([])
})

test('buckets that the source does not have are counted', async () => {
  const reason = 'BAD_OPTION: This move is not possible: shard 0 does not have 2 of these buckets.'
  expect(await objections({ ...PLAN, buckets: '1365-1367' })).toEqual([reason])
  await changeCatalogContents(driver, ({ layout, ...contents }) => {
    const shards = layout!.shards.with(2, { name: 'memory 2', state: 'joining' })
    return { ...contents, layout: { ...layout!, revision: 1, shards } }
  })
  const none = 'BAD_OPTION: This move is not possible: shard 2 does not have 1 of these buckets.'
  expect(await objections({ from: 2, to: 1, buckets: '4000' })).toEqual([none])
})

test('buckets that a shard has given up move again once their entities are deleted there', async () => {
  const shard = driver.shards[0]!
  const away = { move: 7, attempt: 1, buckets: '5-6', to: 1, end: 1 }
  const later = { ...away, move: 8, buckets: '9' }
  const serves = { owns: '0-4,7-1365', away: [{ ...away, buckets: '0-4', emptied: 1 }, away, later] }
  const changed = await changeServes(shard, (await loadShardCatalog(shard))!, serves)
  const message =
    'Shard 0 gave some of these buckets up in move 7, and has not deleted their entities yet. Finish that move first: call shards.repair. shards.moves names the consumers that it waits for.'
  expect(await objections(PLAN)).toEqual([`CONFLICT: ${message}`])
  await expect(announceMove(store.context, PLAN)).rejects.toMatchObject({ code: 'CONFLICT', message })
  expect(await objections({ ...PLAN, buckets: '0-4,7-8' })).toEqual([])
  await changeServes(shard, changed!, { ...serves, away: [{ ...away, emptied: 1 }] })
  expect(await objections(PLAN)).toEqual([])
})

test('the end of a move gives its buckets to the target, and other moves stay announced', async () => {
  const move = await announceMove(store.context, PLAN)
  const other = await announceMove(store.context, { from: 2, to: 0, buckets: '4000' })
  const work = { context: store.context, move, throttle: undefined as never, signal: undefined }
  await endMove(work)
  expect(store.context.catalog.current().layout).toEqual(await layoutOf(0))
  for (const number of [0, 1, 2])
    expect(await layoutOf(number)).toMatchObject({
      revision: 3,
      moves: [other],
      shards: [{ buckets: '10-1365' }, { buckets: '0-9,1366-2730' }, { buckets: '2731-4095' }],
    })
  await endMove(work)
  expect(await layoutOf(0)).toMatchObject({ revision: 3 })
  await completeAnnouncement(work)
  expect(await layoutOf(0)).toMatchObject({ revision: 3 })
})

test('a move that another mover has ended gets no other phase', async () => {
  const work = { context: store.context, move: await announceMove(store.context, PLAN) } as MoveWork
  await endMove(work)
  await announceTarget(work)
  expect(await layoutOf(0)).toMatchObject({ revision: 2, moves: [] })
})

test('a phase is announced for one move, and once', async () => {
  const plan = { from: 2, to: 0, buckets: '4000' }
  const work = { context: store.context, move: await announceMove(store.context, plan) } as MoveWork
  const other = await announceMove(store.context, PLAN)
  await announceTarget(work)
  const { epochs } = await store.context.catalog.reload()
  await announceTarget(work)
  expect((await store.context.catalog.reload()).epochs).toEqual(epochs)
  expect((await layoutOf(1)).moves).toEqual([{ ...work.move, phase: 'target' }, other])
})

test('a process that completes the announcement of another one goes by it', async () => {
  const other = await openStore(driver)
  const move = await announceMove(other.context, PLAN)
  await other.close()
  expect(store.context.catalog.current().layout!.moves).toBeUndefined()
  await completeAnnouncement({ context: store.context, signal: undefined })
  expect(store.context.catalog.current().layout!.moves).toEqual([move])
})

test('a shard that does not answer is no objection to a move', async () => {
  const down = new LooseleafError('SHARD_UNAVAILABLE', 'It is down.')
  let loads = -Infinity
  const failing = await openStore(
    faultyDriver(driver, ({ shard, table, operation }) =>
      shard === 2 && table === 'catalog' && operation === 'load' && ++loads === 2
        ? { before: () => Promise.reject(down) }
        : undefined,
    ),
  )
  loads = 0
  await expect(objectionsTo(failing.context, PLAN)).rejects.toBe(down)
  await failing.close()
})

test('a draining is announced once, and withdrawn once', async () => {
  await announceDraining(store.context, 1, {})
  await announceDraining(store.context, 1, {})
  expect(await layoutOf(2)).toMatchObject({ revision: 1, shards: [{}, { state: 'draining' }, {}] })
  await withdrawDraining(store.context, 1, {})
  await withdrawDraining(store.context, 1, {})
  const { revision, shards } = await layoutOf(2)
  expect([revision, ...shards.map(({ state }) => state)]).toEqual([2, undefined, undefined, undefined])
  expect(store.context.catalog.current().layout).toMatchObject({ revision: 2 })
})

test('the last shard that takes buckets cannot be drained, and neither can one that the store does not have', async () => {
  await announceDraining(store.context, 1, {})
  await announceDraining(store.context, 2, {})
  await expect(announceDraining(store.context, 0, {})).rejects.toMatchObject({
    code: 'BAD_OPTION',
    message: 'Shard 0 cannot be drained: no other shard takes buckets. Add a shard first.',
  })
  for (const change of [announceDraining, withdrawDraining])
    await expect(change(store.context, 3, {})).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: 'The store has no shard 3; there are 3, from 0.',
    })
})

test.each(['joining', 'removed'] as const)('a shard in the state %s is not drained', async (state) => {
  await setState(1, state)
  for (const change of [announceDraining, withdrawDraining])
    await expect(change(store.context, 1, {})).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: `Shard 1 has no buckets: its state is ${state}.`,
    })
})

test('a store whose router has no buckets refuses moves and drains', async () => {
  const fixed = await DataStore.open({
    shards: memoryShards(2),
    router: moduloRouter({ shards: 2 }),
    migrate: true,
  })
  const error = { code: 'BAD_OPTION', message: expect.stringContaining('has no buckets') as string }
  await expect(announceMove(fixed.context, PLAN)).rejects.toMatchObject(error)
  await expect(announceDraining(fixed.context, 0, {})).rejects.toMatchObject(error)
  await expect(fixed.shards.plan('rebalance')).rejects.toMatchObject(error)
  await expect(fixed.shards.rebalance()).rejects.toMatchObject(error)
  await fixed.close()
})

test('a store without a layout announces no move and no draining', async () => {
  await changeCatalogContents(driver, (contents) => ({ ...contents, layout: undefined }))
  const error = { code: 'NOT_MIGRATED', message: expect.stringContaining('no layout yet') as string }
  await expect(announceMove(store.context, PLAN)).rejects.toMatchObject(error)
  await expect(announceDraining(store.context, 0, {})).rejects.toMatchObject(error)
  await expect(store.shards.plan('rebalance')).rejects.toMatchObject(error)
})
