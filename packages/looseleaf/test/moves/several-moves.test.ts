import { LooseleafError, type Time } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { loadShardCatalog } from '@looseleaf/index-engine/internal'
import { faultyDriver } from '@looseleaf/testkit'
import { drainShard, moveBuckets, resumeMoves } from '@looseleaf/mover/internal'
import type { DataStore } from '@looseleaf/store'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, test } from 'vitest'
import { checkIndexes, checkQueries, contentsOf, filledStore, itemOf, openStore, rowsAt } from './stores.ts'

/** Shard 0 has the buckets 0–1365, shard 1 those to 2730, and shard 2 the rest. */
const MOVES = [
  { from: 0, to: 1, buckets: '0-300' },
  { from: 0, to: 2, buckets: '301-600' },
  { from: 1, to: 2, buckets: '1366-1700' },
  { from: 2, to: 0, buckets: '4000-4095' },
]

/** Writes and reads until the work is done. Returns the ids that were written. */
async function writeDuring(store: DataStore, work: Promise<unknown>): Promise<ReadonlySet<string>> {
  let isDone = false
  const written = new Set<string>()
  const writer = async (start: number): Promise<void> => {
    for (let number = start; !isDone; number += 2) {
      const { id } = await store.put({ ...itemOf(10_000 + number), n: 0 })
      await store.update(id, (bag) => ({ ...bag, n: 1 }))
      written.add(id)
      expect(await store.get(id)).toMatchObject({ n: 1 })
    }
  }
  const writers = [0, 1].map(writer)
  await work.finally(() => (isDone = true))
  await Promise.all(writers)
  return written
}

test('four moves at once between three shards lose nothing while two writers go on', async () => {
  const driver = await memoryShards(3).connect()
  await filledStore(driver, 200)
  const before = await contentsOf(await openStore(driver))
  const movers = await Promise.all(MOVES.map(() => openStore(driver, leapingTime())))
  const moving = Promise.all(
    movers.map((mover, i) => moveBuckets(mover, MOVES[i]!, { groups: 2, pollMs: 1 })),
  )
  const store = await openStore(driver)
  const written = await writeDuring(store, moving)
  // Deletes the rows that were lost.
  await store.close()
  expect((await moving).map(({ state }) => state)).toEqual(['done', 'done', 'done', 'done'])
  expect(written.size).toBeGreaterThan(0)

  const fresh = await openStore(driver)
  const after = await contentsOf(fresh)
  for (const [id, text] of before) expect(after.get(id)).toBe(text)
  for (const id of written) expect(JSON.parse(after.get(id)!)[1]).toMatchObject({ n: 1 })
  expect(after.size).toBe(before.size + written.size)
  for (const { from, buckets } of MOVES) expect(await rowsAt(fresh, from, buckets)).toBe(0)
  await checkQueries(fresh)
  await checkIndexes(fresh)
})

test('two processes that drain one shard at once, and a third that rebalances, leave it empty', async () => {
  const driver = await memoryShards(3).connect()
  const store = await filledStore(driver, 300)
  const before = await contentsOf(store)
  const [one, two, three] = await Promise.all([0, 1, 2].map(() => openStore(driver, leapingTime())))
  await Promise.all([one!.shards.drain(2), two!.shards.drain(2), three!.shards.rebalance()])
  expect((await store.shards.list())[2]).toMatchObject({ state: 'draining', buckets: 0 })
  expect(await rowsAt(store, 2, '0-4095')).toBe(0)
  expect(await store.shards.moves()).toEqual([])
  expect(await contentsOf(await openStore(driver))).toEqual(before)
})

test('a drain that was interrupted goes on in another process, and ends when it is stopped', async () => {
  const driver = await memoryShards(3).connect()
  const store = await filledStore(driver, 300)
  const controller = new AbortController()
  // Each move is announced when the one before it was handed over, so a part of the buckets is in no move.
  const interrupted = drainShard(store.context, 0, {
    rowsAhead: 0,
    signal: controller.signal,
    onProgress: ({ step }) => step === 'checking' && controller.abort(),
  })
  await expect(interrupted).rejects.toMatchObject({ code: 'ABORTED' })
  const other = await openStore(driver, leapingTime())
  const reports = await other.shards.drain(0, {
    onProgress: ({ step }) => (step === 'emptying' ? store.shards.stopDraining(0) : undefined),
  })
  expect(reports).toMatchObject([{ from: 0, state: 'done' }])
  const [shard] = await store.shards.list()
  expect(shard).toMatchObject({ state: 'serving' })
  expect(shard!.buckets).toBeGreaterThan(0)
  expect(await store.put({ user: 'ada' })).toMatchObject({ created: true })
})

test('the last shard that takes buckets cannot be drained', async () => {
  const store = await filledStore(await memoryShards(2).connect(), 20)
  await store.shards.drain(1)
  const refusal = /^Shard 0 cannot be drained: no other shard takes buckets/
  await expect(store.shards.drain(0)).rejects.toMatchObject({
    code: 'BAD_OPTION',
    message: expect.stringMatching(refusal),
  })
  expect((await store.shards.plan({ drain: 0 })).problems).toEqual([expect.stringMatching(refusal)])
  await expect(store.shards.drain(7)).rejects.toMatchObject({ code: 'BAD_OPTION' })
  await expect(store.shards.stopDraining(-1)).rejects.toMatchObject({ code: 'BAD_OPTION' })
})

test('the moves of a plan share their waits for other processes, and copy one after the other', async () => {
  const driver = await memoryShards(3).connect()
  await filledStore(driver, 100)
  const steps: string[] = []
  const bothHandedOver = Promise.withResolvers<void>()
  let fillWaits = 0
  const time = leapingTime()
  const holding: Time = {
    now: time.now,
    async sleep(milliseconds, signal) {
      // Before its first group, a move waits for 5.5 seconds. After its last one it waits longer.
      if (milliseconds > 5_000 && milliseconds < 9_000) fillWaits++
      if (milliseconds >= 9_000) await bothHandedOver.promise
      return time.sleep(milliseconds, signal)
    },
  }
  const store = await openStore(driver, holding)
  const reports = await store.shards.drain(0, {
    onProgress({ move, step }) {
      if (steps.at(-1) !== `${step} ${move}`) steps.push(`${step} ${move}`)
      if (steps.filter((each) => each.startsWith('switching')).length === 2) bothHandedOver.resolve()
    },
  })
  const [one, two] = reports.map(({ id }) => id)
  expect(reports).toMatchObject([{ state: 'done' }, { state: 'done' }])
  const fill = ['copying', 'checking', 'sealing', 'switching']
  expect(steps.slice(0, 8)).toEqual([
    ...fill.map((step) => `${step} ${one}`),
    ...fill.map((step) => `${step} ${two}`),
  ])
  expect(fillWaits).toBe(1)
  expect(await rowsAt(store, 0, '0-4095')).toBe(0)
  await checkIndexes(await openStore(driver))
})

test('a move that fails leaves those before it done, and the announced ones to the next call', async () => {
  const driver = await memoryShards(3).connect()
  const before = await contentsOf(await filledStore(driver, 100))
  let isDown = true
  const failing = faultyDriver(driver, ({ shard, operation }) =>
    isDown && shard === 2 && operation === 'receive'
      ? { before: () => Promise.reject(new LooseleafError('SHARD_FULL', 'Full.', { retryable: true })) }
      : undefined,
  )
  const store = await openStore(failing, leapingTime())
  await expect(store.shards.drain(0)).rejects.toMatchObject({ code: 'SHARD_FULL' })
  expect(await store.shards.moves({ finished: true })).toMatchObject([
    { to: 1, state: 'done' },
    { to: 2, state: 'copying', heldUpBy: 'Full.' },
  ])
  isDown = false
  expect(await store.shards.drain(0)).toMatchObject([{ to: 2, state: 'done' }])
  expect(await contentsOf(await openStore(driver))).toEqual(before)
})

test('every shard has the announcement of a move before its first copy, although the process that announced it has died', async () => {
  const driver = await memoryShards(3).connect()
  // Some of them are in the buckets that move.
  await filledStore(driver, 400)
  const dying = faultyDriver(driver, ({ shard, table, operation }) =>
    shard === 2 && table === 'catalog' && operation === 'change'
      ? { before: () => Promise.reject(new LooseleafError('CLOSED', 'The process has died.')) }
      : undefined,
  )
  const dead = await openStore(dying, leapingTime())
  await expect(moveBuckets(dead, MOVES[0]!)).rejects.toMatchObject({ code: 'CLOSED' })
  const movesOn = async (number: number): Promise<number | undefined> =>
    (await loadShardCatalog(driver.shards[number]!))?.layout?.moves?.length
  expect(await Promise.all([0, 1, 2].map(movesOn))).toEqual([1, 1, undefined])

  const found: unknown[] = []
  const watched = faultyDriver(driver, ({ operation }) =>
    operation === 'receive' ? { before: async () => void found.push(await movesOn(2)) } : undefined,
  )
  const mover = await openStore(watched, leapingTime())
  expect(await resumeMoves(mover)).toMatchObject([{ state: 'done' }])
  expect(found[0]).toBe(1)
})
