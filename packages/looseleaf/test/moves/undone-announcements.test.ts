import type { Driver } from '@looseleaf/core'
import { unionOfRanges, type LayoutMove, type StoreLayout } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { changeCatalogContents, changeServes } from '@looseleaf/index-engine/internal'
import { announceMove, endMove, loadOwn, type MoveWork } from '@looseleaf/protocol/internal'
import type { DataStore } from '@looseleaf/store'
import { faultyDriver } from '@looseleaf/testkit'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { layoutAt, replaceMoves } from './layouts.ts'
import { openStore } from './stores.ts'

// Announcements that failovers, crashes and other processes undo meanwhile.

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

const setMoves = (moves: readonly LayoutMove[], revision = 1): Promise<void> =>
  replaceMoves(driver, moves, revision)

test('an announcement is made again if a later catalog of another process lacks it', async () => {
  const other: LayoutMove = { id: 7, from: 1, to: 2, buckets: '1400', phase: 'both' }
  const layouts = [undefined, [], [other]].map((moves) => (layout: StoreLayout): StoreLayout => ({
    ...layout,
    revision: 7,
    moves,
  }))
  for (const [i, change] of layouts.entries()) {
    let isLost = false
    const losing = await openStore(
      faultyDriver(driver, ({ shard, operation }) => {
        if (shard !== 0 || operation !== 'change' || isLost) return undefined
        isLost = true
        return {
          // A failover of the leading shard loses the announcement, and a process that does not know it changes the catalog.
          after: () =>
            changeCatalogContents(driver, ({ layout, ...contents }) => ({
              ...contents,
              layout: change(layout!),
            })).then(() => undefined),
        }
      }),
    )
    isLost = false
    const plan = { ...PLAN, buckets: `${i}` }
    expect(await announceMove(losing.context, plan)).toEqual({ id: 8, ...plan, phase: 'both' })
    for (const number of [0, 1, 2])
      expect((await layoutOf(number)).moves!.map(({ id }) => id)).toEqual([...(i === 2 ? [7] : []), 8])
    await losing.close()
  }
})

/** Opens a store whose next announcement is lost by a failover, and replaced by this one. */
async function openLosing(other: LayoutMove): Promise<DataStore> {
  let isLost: boolean | undefined
  const losing = await openStore(
    faultyDriver(driver, ({ shard, operation }) => {
      if (shard !== 0 || operation !== 'change' || isLost !== false) return undefined
      isLost = true
      return { after: () => setMoves([other]) }
    }),
  )
  onTestFinished(() => losing.close())
  isLost = false
  return losing
}

test('an announcement is made again if another move has got its number by a failover', async () => {
  const other: LayoutMove = { id: 1, from: 1, to: 2, buckets: '1400', phase: 'both' }
  const losing = await openLosing(other)
  const move = { id: 2, ...PLAN, phase: 'both' }
  expect(await announceMove(losing.context, PLAN)).toEqual(move)
  for (const number of [0, 1, 2]) expect((await layoutOf(number)).moves).toEqual([other, move])
})

/** Opens a store that finds an announcement. `change` runs before the announcement is looked at again. */
async function openFinding(change: () => Promise<void>): Promise<DataStore> {
  await setMoves([{ id: 1, ...PLAN, phase: 'both' }])
  let flushes = -Infinity
  const finding = await openStore(
    faultyDriver(driver, ({ operation }) =>
      // The look before the announcement flushes each shard once.
      operation === 'flush' && ++flushes === 4 ? { before: change } : undefined,
    ),
  )
  onTestFinished(() => finding.close())
  flushes = 0
  return finding
}

test('an announcement of another process that a crash undoes is made again under another number', async () => {
  const other: LayoutMove = { id: 1, from: 1, to: 2, buckets: '1400', phase: 'both' }
  const crashing = await openFinding(() => setMoves([other]))
  const move = { id: 2, ...PLAN, phase: 'both' }
  expect(await announceMove(crashing.context, PLAN)).toEqual(move)
  expect((await layoutOf(1)).moves).toEqual([other, move])
})

test('an announcement that a crash undoes is returned as another process has announced it again', async () => {
  const again: LayoutMove = { id: 7, ...PLAN, phase: 'both' }
  const crashing = await openFinding(() => setMoves([again], 7))
  expect(await announceMove(crashing.context, PLAN)).toEqual(again)
})

test('an announcement to a shard without buckets that a crash undoes is made again', async () => {
  const crashing = await openFinding(async () => {
    await changeCatalogContents(driver, ({ layout, ...contents }) => {
      const shards = layout!.shards
        .with(1, { name: 'memory 1' })
        .with(2, { name: 'memory 2', buckets: '1366-4095' })
      return { ...contents, layout: { ...layout!, shards, moves: [] } }
    })
  })
  expect(await announceMove(crashing.context, PLAN)).toEqual({ id: 2, ...PLAN, phase: 'both' })
})

/** Ends a move from shard 0 to shard 1, as its mover does. */
async function end(move: LayoutMove): Promise<void> {
  const { id, from, buckets } = move
  const { catalog, serves } = await loadOwn(store.context, 1, {})
  const arrived = { move: id, attempt: 1, buckets, from, end: 1, begin: 2, afterAddedId: 0 }
  const owns = unionOfRanges(serves.owns, buckets)
  await changeServes(driver.shards[1]!, catalog, { ...serves, owns, arrived: [arrived] })
  await endMove({ context: store.context, move } as MoveWork)
}

test('an announcement of another process is returned although its move ends during the call', async () => {
  const move: LayoutMove = { id: 1, ...PLAN, phase: 'both' }
  const late = await openFinding(() => end(move))
  expect(await announceMove(late.context, PLAN)).toEqual(move)
  expect(await layoutOf(0)).toMatchObject({ revision: 2, moves: [] })
})

test('an announcement that is lost is not returned because another move with its number has brought its buckets to the target', async () => {
  const other: LayoutMove = { id: 1, ...PLAN, buckets: '0-19', phase: 'both' }
  const late = await openFinding(async () => {
    await setMoves([other])
    await end(other)
  })
  await expect(announceMove(late.context, PLAN)).rejects.toMatchObject({
    code: 'BAD_OPTION',
    message: 'This move is not possible: shard 0 does not have 10 of these buckets.',
  })
})

test('an announcement that other processes undo each time is given up', async () => {
  let losses = -Infinity
  const losing = await openStore(
    faultyDriver(driver, ({ shard, operation }) =>
      shard === 0 && operation === 'change' && ++losses > 0 && losses <= 60
        ? { after: () => setMoves([], 10 * losses) }
        : undefined,
    ),
  )
  onTestFinished(() => losing.close())
  losses = 0
  await expect(announceMove(losing.context, PLAN)).rejects.toMatchObject({
    code: 'CONFLICT',
    message:
      'Other processes changed the layout 50 times in a row, so the move of buckets 0-9 was not announced. Try again when they are done.',
  })
  expect(losses).toBe(50)
  expect((await layoutOf(0)).moves).toEqual([])
})

test('a move that another one has replaced by a failover is announced again, also if its buckets are among the others', async () => {
  const other: LayoutMove = { id: 1, ...PLAN, buckets: '0-4', phase: 'both' }
  const losing = await openLosing(other)
  await expect(announceMove(losing.context, PLAN)).rejects.toMatchObject({ code: 'CONFLICT' })
  expect((await layoutOf(0)).moves).toEqual([other])
})
