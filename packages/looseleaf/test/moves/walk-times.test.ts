import type { Driver } from '@looseleaf/core'
import type { ShardCatalog } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { keptRowsMs } from '@looseleaf/index-engine/internal'
import { moveBuckets, movesOf, resumeMoves, undoMove } from '@looseleaf/mover/internal'
import { UNCHECKED_WAIT_MS } from '@looseleaf/protocol/internal'
import type { DataStore } from '@looseleaf/store'
import { faultyDriver } from '@looseleaf/testkit'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { filledStore, lateSleeps, openStore, SOME_BUCKETS } from './stores.ts'

const PLAN = { from: 0, to: 1, buckets: SOME_BUCKETS }

let driver: Driver

beforeEach(async () => {
  driver = await memoryShards(2).connect()
  await (await filledStore(driver, 40)).close()
})
afterEach(() => driver.close())

/** Opens a store that notes when its changes of the catalog were on their last shard. Only waits advance its time. */
async function timedStore(): Promise<{ store: DataStore; times: Map<string, number> }> {
  const time = leapingTime()
  const times = new Map<string, number>()
  const watched = faultyDriver(driver, ({ operation, args }) => {
    if (operation !== 'change') return undefined
    const { layout, serves } = args[0] as ShardCatalog
    const [move] = layout?.moves ?? []
    const note = (name: string): void => void (times.has(name) || times.set(name, time.now()))
    return {
      after() {
        note(move === undefined ? 'ended' : move.phase)
        if (serves?.leaving?.some(({ sealed }) => sealed !== undefined)) note('sealed')
        if (serves?.away !== undefined) note('away')
      },
    }
  })
  return { store: await openStore(watched, lateSleeps(time)), times }
}

test('the first bucket is sealed when no process reads unchecked any more, and the announcement ends when no query reads the source', async () => {
  const { store, times } = await timedStore()
  await moveBuckets(store, PLAN)
  expect(times.get('sealed')! - times.get('both')!).toBe(UNCHECKED_WAIT_MS)
  const kept = keptRowsMs(store.context.catalog.current())
  expect(kept).toBeGreaterThan(1_000)
  expect(times.get('ended')! - times.get('target')!).toBe(UNCHECKED_WAIT_MS + kept)
  await store.close()
})

test('a mover that takes over waits again, because it does not know when the announcement was complete', async () => {
  const first = await timedStore()
  const stopped = new AbortController()
  const moved = moveBuckets(first.store, PLAN, {
    signal: stopped.signal,
    onProgress: ({ step }) => void (step === 'checking' && stopped.abort()),
  })
  await expect(moved).rejects.toMatchObject({ code: 'ABORTED' })
  const { store, times } = await timedStore()
  const began = store.context.time.now()
  expect(await resumeMoves(store)).toMatchObject([{ state: 'done' }])
  expect(times.get('sealed')! - began).toBe(UNCHECKED_WAIT_MS)
  await first.store.close()
  await store.close()
})

test('an undo withdraws the announcement when no process reads by it any more', async () => {
  const { store, times } = await timedStore()
  const stopped = new AbortController()
  const moved = moveBuckets(store, PLAN, {
    signal: stopped.signal,
    onProgress: ({ step }) => void (step === 'checking' && stopped.abort()),
  })
  await expect(moved).rejects.toMatchObject({ code: 'ABORTED' })
  const { id } = (await movesOf(store))[0]!
  expect(await undoMove(store, id)).toMatchObject({ state: 'undone' })
  const kept = keptRowsMs(store.context.catalog.current())
  expect(times.get('ended')! - times.get('undoing')!).toBe(UNCHECKED_WAIT_MS + kept)
  expect(times.has('away')).toBe(false)
  await store.close()
})
