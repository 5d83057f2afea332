import { importCopy } from '@looseleaf-tooling/vitest/import-copy'
import { CompiledQuery, Kysely } from 'kysely'
import { afterAll, afterEach, beforeEach, expect, test, vi } from 'vitest'
import type * as modules from '../../test/pool-modules.ts'
import type { ClientAnswer, ClientConnection } from '../connection/mysql2.ts'
import type { Pool } from './pool.ts'

// Modules take their timers when they are loaded, so these copies have fake ones.
vi.useFakeTimers()
const { createConnection, createPool, mysqlDialect } = await importCopy<typeof modules>(
  new URL('../../test/pool-modules.ts', import.meta.url),
)
afterAll(() => void vi.useRealTimers())

const AUTOCOMMIT = 2
const IN_TRANSACTION = 1

/** Statements that a server got, and when; it answers each after this many milliseconds. */
interface SlowServer {
  readonly received: [at: number, sql: string][]
  readonly killed: number[]
  answerMs: number
}

/** One tick of this clock: an answer in the turn of the deadline still counts. */
const LAST_LOOK = 1

let server: SlowServer
let start: number
let pool: Pool

beforeEach(() => {
  server = { received: [], killed: [], answerMs: 0 }
  start = performance.now()
})

afterEach(async () => {
  await pool.close()
  if (vi.getTimerCount() !== 0) throw new Error('A call has left a timer behind.')
})

const now = (): number => Math.round(performance.now() - start)

function slowClient(): ClientConnection {
  let status = AUTOCOMMIT
  const answer = (done: (error: null, answer: ClientAnswer) => void): void => {
    if (Number.isFinite(server.answerMs))
      setTimeout(() => done(null, { result: [], status }), server.answerMs)
  }
  return {
    connected: (done) => done(undefined),
    query({ sql }, done) {
      server.received.push([now(), sql])
      if (sql === 'START TRANSACTION') status |= IN_TRANSACTION
      if (sql === 'COMMIT') status &= ~IN_TRANSACTION
      answer(done)
    },
    queryAll: () => {},
    execute: (_, done) => answer(done),
    end: (done) => done(undefined),
    destroy: () => {},
    onLost: () => {},
    isHeard: true,
    greetedAs: undefined,
  }
}

/** A pool whose calls have ten seconds, and whose connections take this many milliseconds to open. */
function openPool(openMs: number, size = 1): Pool {
  pool = createPool({
    name: 'h:1/d',
    async open() {
      await new Promise((resolve) => setTimeout(resolve, openMs))
      return createConnection({
        client: slowClient(),
        openedAt: now(),
        token: Buffer.alloc(8),
        isDirect: true,
        maxPacketBytes: 1024 * 1024,
        isolationName: 'tx_isolation',
        health: { answered: () => {}, failed: () => {}, silent: () => {} },
        readOnlyMs: 10_000,
        kill: () => server.killed.push(now()),
      })
    },
    refusal: () => undefined,
    outdated: { before: -Infinity },
    size,
    maxQueue: 10,
    deadlineMs: 10_000,
    idleMs: 3_600_000,
    connectTimeoutMs: 60_000,
  })
  return pool
}

/** Resolves with how a promise has settled, and when. */
async function ending(promise: Promise<unknown>): Promise<[at: number, code: unknown]> {
  return promise.then(
    () => [now(), 'ok'],
    (error: unknown) => [now(), (error as { code?: unknown }).code],
  )
}

const kysely = (): Kysely<unknown> => new Kysely({ dialect: mysqlDialect(pool) })

const ask = (): Promise<unknown> => kysely().executeQuery(CompiledQuery.raw('SELECT 1'))

test('a call whose statement is not answered ends at its deadline, which includes opening the connection', async () => {
  openPool(4_000)
  server.answerMs = Number.POSITIVE_INFINITY
  const ended = ending(ask())
  await vi.advanceTimersByTimeAsync(20_000)
  expect(await ended).toEqual([10_000 + LAST_LOOK, 'CALL_DEADLINE'])
  expect(server.received).toEqual([[4_000, 'SELECT 1']])
  expect(server.killed).toEqual([10_000 + LAST_LOOK])
  expect(pool.connections).toBe(0)
})

test('the wait for a connection ends at half of the deadline, and nothing is sent', async () => {
  openPool(0)
  server.answerMs = 9_000
  const [first, second] = [ending(ask()), ending(ask())]
  await vi.advanceTimersByTimeAsync(20_000)
  expect(await first).toEqual([9_000, 'ok'])
  expect(await second).toEqual([5_000, 'SHARD_BUSY'])
  expect(server.received).toHaveLength(1)
})

test('a connection that opens too late does not extend the wait, and goes to the pool', async () => {
  openPool(8_000)
  const ended = ending(ask())
  await vi.advanceTimersByTimeAsync(20_000)
  expect(await ended).toEqual([5_000, 'SHARD_UNAVAILABLE'])
  expect(server.received).toEqual([])
  expect((await endingSoon(ask()))[1]).toBe('ok')
})

test('a transaction has one deadline for all its statements and its COMMIT', async () => {
  openPool(1_000)
  server.answerMs = 4_000
  const work = kysely()
    .transaction()
    .execute(async (inner) => {
      await inner.executeQuery(CompiledQuery.raw('SELECT 1'))
      await inner.executeQuery(CompiledQuery.raw('SELECT 2'))
    })
  const ended = ending(work)
  await vi.advanceTimersByTimeAsync(60_000)
  expect(await ended).toEqual([10_000 + LAST_LOOK, 'CALL_DEADLINE'])
  // No ROLLBACK is sent: the connection is closed, and the server rolls back.
  expect(server.received).toEqual([
    [1_000, 'START TRANSACTION'],
    [5_000, 'SELECT 1'],
    [9_000, 'SELECT 2'],
  ])
  expect(pool.connections).toBe(0)
})

test('many connections that died while idle cost a call one verification', async () => {
  openPool(0, 3)
  await endingSoon(Promise.all([ask(), ask(), ask()]))
  expect(pool.connections).toBe(3)
  await vi.advanceTimersByTimeAsync(10_000)
  server.answerMs = Number.POSITIVE_INFINITY
  const began = now()
  const ended = ending(ask())
  await vi.advanceTimersByTimeAsync(999)
  server.answerMs = 0
  await vi.advanceTimersByTimeAsync(10)
  // One second for the verification, and one tick each for opening a connection and for the answer.
  expect(await ended).toEqual([began + 1_000 + LAST_LOOK + 2, 'ok'])
  expect(pool.connections).toBe(1)
})

async function endingSoon(promise: Promise<unknown>): Promise<[number, unknown]> {
  const ended = ending(promise)
  await vi.advanceTimersByTimeAsync(10)
  return ended
}
