import { formatId, LooseleafError, type Driver } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { tableSpec } from '@looseleaf/index-engine/internal'
import { moveBuckets, movesOf, resumeMoves, undoMove } from '@looseleaf/mover/internal'
import { announceMove, processName } from '@looseleaf/protocol/internal'
import type { DataStore, MoveProgress, MoveReport, PlannedMove } from '@looseleaf/store'
import { faultyDriver } from '@looseleaf/testkit'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, onTestFinished, test } from 'vitest'
import { byUser, filledStore, openStore, SOME_BUCKETS } from './stores.ts'

const PLAN = { from: 0, to: 1, buckets: SOME_BUCKETS }

async function driverOf(): Promise<Driver> {
  const driver = await memoryShards(2).connect()
  onTestFinished(() => driver.close())
  return driver
}

test('the report of a move in each step tells its holder, its next step and its way back', async () => {
  const driver = await driverOf()
  const reader = await filledStore(driver, 60)
  const seen = new Map<string, unknown>()
  let reading: Promise<unknown> = Promise.resolve()
  // The mover waits until its report was read.
  const waiting = faultyDriver(driver, () => ({ before: async () => void (await reading) }))
  const store = await openStore(waiting, leapingTime())
  const onProgress = ({ step }: MoveProgress): void => {
    if (seen.has(step)) return
    seen.set(step, undefined)
    reading = movesOf(reader).then(([report]) => seen.set(step, report))
  }
  const report = await moveBuckets(store, PLAN, { onProgress, groups: 2 })
  await reading
  const holder = { worker: processName, since: expect.any(Date) as Date }
  const open = { holder, heldUpBy: undefined, endedAt: undefined, forward: 'repair' }
  expect(Object.fromEntries(seen)).toMatchObject({
    copying: { ...open, next: 'copy the rest, then compare the copies with the source', back: 'undo' },
    checking: {
      ...open,
      next: 'seal and hand over the first group of buckets',
      back: 'undo',
      verified: undefined,
    },
    sealing: {
      ...open,
      next: 'hand over the next group of buckets, then read index rows on the target',
      handedOver: 0,
      back: 'undo',
    },
    switching: {
      ...open,
      next: 'wait for queries in flight, then end the announcement',
      handedOver: 1_024,
      back: 'move',
    },
    emptying: { ...open, next: 'delete what the source gave up', handedOver: 1_024, back: 'move' },
  })
  expect(report).toMatchObject({
    state: 'done',
    holder: undefined,
    next: undefined,
    heldUpBy: undefined,
    bucketCount: 1_024,
    handedOver: 1_024,
    forward: undefined,
    back: 'move',
  })
})

test('a move that no process works on says so, before and after its first step', async () => {
  const driver = await driverOf()
  const store = await filledStore(driver, 60)
  await announceMove(store.context, PLAN)
  const idle = { holder: undefined, heldUpBy: 'no process works on it', handedOver: 0, back: 'undo' }
  expect(await movesOf(store)).toMatchObject([{ state: 'copying', ...idle, counts: { entities: 0 } }])
  for (const stop of ['copying', 'checking', 'sealing']) {
    const interrupted = new AbortController()
    const moved = moveBuckets(store, PLAN, {
      leaseMs: 1,
      signal: interrupted.signal,
      onProgress: ({ step }) => void (step === stop && interrupted.abort()),
    })
    await expect(moved).rejects.toMatchObject({ code: 'ABORTED' })
    expect(await movesOf(store)).toMatchObject([{ state: stop, ...idle }])
  }
  const undone = await undoMove(store, (await movesOf(store))[0]!.id)
  expect(undone).toMatchObject({
    state: 'undone',
    next: undefined,
    heldUpBy: undefined,
    handedOver: 0,
    forward: undefined,
    back: undefined,
  })
  const { emptied, entities, rows, claims } = undone.counts
  expect(emptied).toBe(entities + rows + claims)
  expect(entities).toBeGreaterThan(0)
})

test('a move that is being undone says how it goes on, also while its record on the target does not', async () => {
  const driver = await driverOf()
  const store = await filledStore(driver, 60)
  const interrupted = new AbortController()
  const moved = moveBuckets(store, PLAN, {
    signal: interrupted.signal,
    onProgress: ({ step }) => void (step === 'checking' && interrupted.abort()),
  })
  await expect(moved).rejects.toMatchObject({ code: 'ABORTED' })
  const { id } = (await movesOf(store))[0]!
  let isDenied = true
  const denied = new TypeError('The process has died.')
  const failing = faultyDriver(driver, ({ shard, operation }) =>
    isDenied && shard === 1 && operation === 'discard' ? { before: () => Promise.reject(denied) } : undefined,
  )
  await expect(undoMove(await openStore(failing, leapingTime()), id, { leaseMs: 1 })).rejects.toBe(denied)
  isDenied = false
  expect(await movesOf(store)).toMatchObject([
    {
      state: 'undoing',
      heldUpBy: 'no process works on it',
      next: 'wait for queries in flight, then delete the copies',
      forward: 'repair',
      back: undefined,
    },
  ])
  const [report] = await resumeMoves(store)
  expect(report).toMatchObject({ id, state: 'undone' })
  expect(report!.counts.emptied).toBeGreaterThanOrEqual(report!.counts.entities)
})

test('the counts of a move add up, and its progress never goes back', async () => {
  const driver = await driverOf()
  const store = await filledStore(driver, 300)
  const spec = tableSpec(store.context.catalog.current().indexes.find(({ unique }) => unique)!)
  const claimsOn = (shard: number): Promise<number> => driver.shards[shard]!.index(spec).count({ prefix: [] })
  const claimsBefore = await claimsOn(1)
  const progress: MoveProgress[] = []
  const { id, counts, total, verified, timeLeftMs } = await moveBuckets(store, PLAN, {
    onProgress: (each) => progress.push(each),
  })
  // Without writes, every row is copied once, compared once, and deleted once.
  expect(counts.compared).toBe(counts.entities)
  expect(counts.late).toBe(0)
  expect(counts.claims).toBe((await claimsOn(1)) - claimsBefore)
  expect(counts.emptied).toBe(counts.entities + counts.rows + counts.claims)
  expect(verified!.rows).toBe(counts.entities + counts.rows + counts.claims)
  expect(counts.read).toBeLessThanOrEqual(total)
  expect(timeLeftMs).toBe(0)
  // Once at the beginning of the step, and once for each page.
  expect(progress.filter(({ step }) => step === 'copying').length).toBeGreaterThan(2)
  const reads = progress.map((each) => each.counts.read)
  expect(reads).toEqual(reads.toSorted((a, b) => a - b))
  expect(progress.at(-1)).toMatchObject({ move: id, step: 'done', counts, seals: { groups: 16 } })
})

test('a row that the target lacks at the comparison is counted as late', async () => {
  const driver = await driverOf()
  const filled = await filledStore(driver, 60)
  const spec = tableSpec(filled.context.catalog.current().indexes.find(({ name }) => name === byUser.name)!)
  const rows = driver.shards[1]!.index(spec)
  const scan = (): ReturnType<typeof rows.scan> => rows.scan({ prefix: [], order: 'asc', limit: 1_000 })
  const idsOf = (some: readonly { readonly entityId: Uint8Array }[]): Set<string> =>
    new Set(some.map(({ entityId }) => formatId(entityId)))
  const before = idsOf(await scan())
  let isLost = false
  const losing = faultyDriver(driver, ({ operation, table }) => {
    if (isLost || operation !== 'rowsOf' || table !== 'indexes') return undefined
    return {
      async before() {
        const copied = (await scan()).find(({ entityId }) => !before.has(formatId(entityId)))
        if (copied === undefined) return
        isLost = true
        await rows.remove([{ ...copied, before: copied.version + 1 }])
      },
    }
  })
  const { counts, verified } = await moveBuckets(await openStore(losing, leapingTime()), PLAN)
  expect(isLost).toBe(true)
  expect(counts.late).toBe(1)
  expect(verified!.rows).toBe(counts.entities + counts.rows + counts.claims)
})

test('a move that goes on copies no page and no index again, and counts its rows and its mover anew', async () => {
  const driver = await driverOf()
  const store = await filledStore(driver, 60)
  const plan = { ...PLAN, buckets: '0-2047' }
  const { total } = await stopMove(store, plan, ({ counts }) => counts.entities > 0)
  const other = { worker: 'another process', since: 0, waitsFor: 'The shard was down.' }
  const { tasks } = driver.shards[1]!
  await tasks.claim('move/1', 'other', 60_000)
  const record = JSON.parse((await tasks.load('move/1'))!.progress) as object
  await tasks.save('move/1', 'other', JSON.stringify({ ...record, ...other }), 0)
  await stopMove(store, plan, ({ step }) => step === 'checking')
  let countsOfRows = 0
  let reading: Promise<readonly MoveReport[]> | undefined
  const watched = faultyDriver(driver, ({ operation }) => {
    if (operation === 'count') countsOfRows++
    return { before: async () => void (await reading) }
  })
  const began = Date.now()
  const { counts } = await moveBuckets(await openStore(watched, leapingTime()), plan, {
    onProgress: () => (reading ??= movesOf(store)),
  })
  const all = counts.entities + counts.rows + counts.claims
  expect([counts.emptied, counts.compared]).toEqual([all, counts.entities])
  // Shards estimate the number of their entities.
  expect(total).toBeGreaterThan(counts.rows + counts.claims)
  expect(countsOfRows).toBe(0)
  const [open] = (await reading)!
  expect(open).toMatchObject({ holder: { worker: processName }, heldUpBy: undefined })
  expect(open!.holder!.since.getTime()).toBeGreaterThanOrEqual(began - 60_000)
})

/** Moves buckets in pages of ten rows until this progress, and returns the report then. */
async function stopMove(
  store: DataStore,
  plan: PlannedMove,
  isReached: (progress: MoveProgress) => boolean,
): Promise<MoveReport> {
  const interrupted = new AbortController()
  const onProgress = (progress: MoveProgress): void => void (isReached(progress) && interrupted.abort())
  const moved = moveBuckets(store, plan, { rowsPerSecond: 10, signal: interrupted.signal, onProgress })
  await expect(moved).rejects.toMatchObject({ code: 'ABORTED' })
  return (await movesOf(store))[0]!
}

test('a move goes on without the count of an index that is dropped meanwhile', async () => {
  const driver = await driverOf()
  await filledStore(driver, 30)
  const dropped = new LooseleafError('INDEX_NOT_FOUND', 'The index was dropped.')
  let counts = 0
  const dropping = faultyDriver(driver, ({ shard, table, operation }) =>
    shard === 0 && table.startsWith('index_by_user') && operation === 'count' && ++counts === 1
      ? { before: () => Promise.reject(dropped) }
      : undefined,
  )
  const report = await moveBuckets(await openStore(dropping, leapingTime()), PLAN)
  expect(report.state).toBe('done')
  expect(counts).toBeGreaterThan(0)
})
