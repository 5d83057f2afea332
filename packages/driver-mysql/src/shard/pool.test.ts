import { LooseleafError } from '@looseleaf/core'
import { expect, test } from 'vitest'
import type { Connection } from '../connection/connection.ts'
import { createPool, type Pool, type PoolOptions } from './pool.ts'

interface TestConnection extends Connection {
  usable: boolean
  ended: boolean
}

function testConnection(): TestConnection {
  const connection: TestConnection = {
    usable: true,
    ended: false,
    executeQuery: () => Promise.reject(new Error('not used')),
    streamQuery: () => {
      throw new Error('not used')
    },
    begin: () => {},
    verify: async () => {},
    startTransaction: async () => {},
    commit: async () => {},
    end: async () => void (connection.ended = true),
    destroy: () => void (connection.usable = false),
  }
  return connection
}

function testPool(options: Partial<PoolOptions> = {}): Pool {
  return createPool({
    name: 'test',
    open: async () => testConnection(),
    size: 2,
    maxQueue: 2,
    deadlineMs: 60_000,
    connectTimeoutMs: 60_000,
    refusal: () => undefined,
    idleMs: 60_000,
    ...options,
  })
}

test('a connection that was given back is used again', async () => {
  const pool = testPool()
  const first = await pool.acquire()
  pool.release(first)
  expect(await pool.acquire()).toBe(first)
  expect(pool.connections).toBe(1)
})

test('there are no more connections than its size, and whoever waits gets one in turn', async () => {
  const pool = testPool()
  const [a, b] = [await pool.acquire(), await pool.acquire()]
  const [third, fourth] = [pool.acquire(), pool.acquire()]
  pool.release(b)
  expect(await third).toBe(b)
  pool.release(a)
  expect(await fourth).toBe(a)
  expect(pool.connections).toBe(2)
})

test('one more than may wait is refused', async () => {
  const pool = testPool({ size: 1, maxQueue: 1 })
  const held = await pool.acquire()
  const waiting = pool.acquire()
  await expect(pool.acquire()).rejects.toMatchObject({
    code: 'SHARD_BUSY',
    retryable: true,
    unknownOutcome: false,
  })
  pool.release(held)
  expect(await waiting).toBe(held)
})

test('whoever waits too long is refused, and the connection goes to the next', async () => {
  const pool = testPool({ size: 1, deadlineMs: 10 })
  const held = await pool.acquire()
  await expect(pool.acquire()).rejects.toMatchObject({
    code: 'SHARD_BUSY',
    message: expect.stringMatching(/within 5 ms/),
  })
  pool.release(held)
  expect(await pool.acquire()).toBe(held)
})

test('a connection that broke gives its place to a new one', async () => {
  const pool = testPool({ size: 1 })
  const broken = await pool.acquire()
  const waiting = pool.acquire()
  broken.destroy()
  pool.release(broken)
  expect(await waiting).not.toBe(broken)
  expect(pool.connections).toBe(1)
})

test('a connection that broke while it was idle is not given away', async () => {
  const pool = testPool({ size: 1 })
  const broken = await pool.acquire()
  pool.release(broken)
  broken.destroy()
  expect(await pool.acquire()).not.toBe(broken)
  expect(pool.connections).toBe(1)
})

test('when nothing can be opened, everybody who waits hears it at once', async () => {
  const down = new LooseleafError('SHARD_UNAVAILABLE', 'down')
  const { promise, reject } = Promise.withResolvers<Connection>()
  const pool = testPool({ size: 1, open: () => promise })
  const calls = [pool.acquire(), pool.acquire(), pool.acquire()]
  await Promise.resolve()
  reject(down)
  const results = await Promise.allSettled(calls)
  expect(results.map((result) => result.status === 'rejected' && result.reason === down)).toEqual([
    true,
    true,
    true,
  ])
  expect(pool.connections).toBe(0)
})

test('closing ends idle connections, and those in use when they come back', async () => {
  const pool = testPool()
  const [a, b] = [(await pool.acquire()) as TestConnection, (await pool.acquire()) as TestConnection]
  pool.release(a)
  await pool.close()
  expect([a.ended, b.ended]).toEqual([true, false])
  pool.release(b)
  expect(b.ended).toBe(true)
})
