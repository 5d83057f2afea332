import { importCopy } from '@looseleaf-tooling/vitest/import-copy'
import { afterAll, afterEach, beforeEach, expect, test, vi } from 'vitest'
import type * as modules from '../../test/pool-modules.ts'
import { testConnection } from '../../test/test-connection.ts'
import type { Connection } from '../connection/connection.ts'
import type { Pool } from './pool.ts'

// Modules take their timers when they are loaded, so these copies have fake ones.
vi.useFakeTimers()
const { createPool } = await importCopy<typeof modules>(
  new URL('../../test/pool-modules.ts', import.meta.url),
)
afterAll(() => void vi.useRealTimers())

let start: number
/** Milliseconds after which each connection was closed, in the order of the closings. */
let closedAt: number[]
let outdated: { before: number }
let pool: Pool

const now = (): number => Math.round(performance.now() - start)

beforeEach(() => {
  start = performance.now()
  closedAt = []
  outdated = { before: -Infinity }
})
afterEach(() => pool.close())

function openPool(idleMs: number): void {
  pool = createPool({
    name: 'test',
    open: async () => ({ ...testConnection(), end: async () => void closedAt.push(now()) }),
    size: 2,
    maxQueue: 2,
    deadlineMs: 600_000,
    connectTimeoutMs: 60_000,
    refusal: () => undefined,
    idleMs,
    outdated,
  })
}

const take = (count: number): Promise<Connection[]> =>
  Promise.all(Array.from({ length: count }, () => pool.acquire()))

test('a connection is closed at the first sweep after it was idle for longer than idleMs, and one that was used since stays', async () => {
  openPool(60_000)
  for (const connection of await take(2)) pool.release(connection)
  await vi.advanceTimersByTimeAsync(20_000)
  pool.release(await pool.acquire())
  // A sweep each quarter of this time.
  await vi.advanceTimersByTimeAsync(40_000)
  expect([closedAt, pool.connections]).toEqual([[], 2])
  await vi.advanceTimersByTimeAsync(15_000)
  expect([closedAt, pool.connections]).toEqual([[75_000], 1])
  await vi.advanceTimersByTimeAsync(60_000)
  expect([closedAt, pool.connections]).toEqual([[75_000, 90_000], 0])
})

test('connections are swept once a second at most', async () => {
  openPool(1_000)
  for (const connection of await take(2)) pool.release(connection)
  await vi.advanceTimersByTimeAsync(5_000)
  expect(closedAt).toEqual([2_000, 2_000])
})

test('a sweep closes idle connections to a server that another pool has left, although no call needs one', async () => {
  openPool(60_000)
  const [, idle] = await take(2)
  pool.release(idle!)
  await vi.advanceTimersByTimeAsync(10)
  outdated.before = performance.now()
  await vi.advanceTimersByTimeAsync(20_000)
  expect([closedAt, pool.connections]).toEqual([[15_000], 1])
})
