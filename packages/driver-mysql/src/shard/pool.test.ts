import { setImmediate as nextTurn } from 'node:timers/promises'
import { LooseleafError } from '@looseleaf/core'
import { platformTime } from '@looseleaf/core/internal'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { testConnection, type TestConnection } from '../../test/test-connection.ts'
import type { Connection } from '../connection/connection.ts'
import { createPool, type Pool, type PoolOptions } from './pool.ts'

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
    outdated: { before: -Infinity },
    ...options,
  })
}

test('a released connection is used again', async () => {
  const pool = testPool()
  const first = await pool.acquire()
  pool.release(first)
  expect(await pool.acquire()).toBe(first)
  expect(pool.connections).toBe(1)
})

test('a pool opens no more connections than its size, and waiting calls get one in turn', async () => {
  const pool = testPool()
  const [a, b] = [await pool.acquire(), await pool.acquire()]
  const [third, fourth] = [pool.acquire(), pool.acquire()]
  pool.release(b)
  expect(await third).toBe(b)
  pool.release(a)
  expect(await fourth).toBe(a)
  expect(pool.connections).toBe(2)
})

test('a call beyond maxQueue is SHARD_BUSY', async () => {
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

test('a call that waits too long is SHARD_BUSY, and the connection goes to the next', async () => {
  const pool = testPool({ size: 1, deadlineMs: 10 })
  const held = await pool.acquire()
  await expect(pool.acquire()).rejects.toMatchObject({
    code: 'SHARD_BUSY',
    message: expect.stringMatching(/within 5 ms/),
  })
  pool.release(held)
  expect(await pool.acquire()).toBe(held)
})

test('a broken connection is replaced by a new one', async () => {
  const pool = testPool({ size: 1 })
  const broken = await pool.acquire()
  const waiting = pool.acquire()
  broken.destroy()
  pool.release(broken)
  expect(await waiting).not.toBe(broken)
  expect(pool.connections).toBe(1)
})

test('a connection that broke while idle is not used', async () => {
  const pool = testPool({ size: 1 })
  const broken = await pool.acquire()
  pool.release(broken)
  broken.destroy()
  expect(await pool.acquire()).not.toBe(broken)
  expect(pool.connections).toBe(1)
})

test('every waiting call is rejected at once when no connection can be opened', async () => {
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

describe('a server that allows fewer connections than the pool', () => {
  const limit = new LooseleafError('SHARD_BUSY', 'test: the user has no more (max_user_connections).')

  let allowed: number
  let requested: number

  /** A pool whose server allows this many connections. */
  function limitedPool(connections: number, options: Partial<PoolOptions> = {}): Pool {
    allowed = connections
    requested = 0
    let opened = 0
    const open = async (): Promise<Connection> => {
      requested++
      if (opened === allowed) throw limit
      opened++
      return testConnection()
    }
    return testPool({ size: 3, maxQueue: 100, open, ...options })
  }

  /** Returns a function that ends the only pause since. */
  function pauses(): () => void {
    const timers = vi.spyOn(platformTime, 'setTimeout')
    onTestFinished(() => timers.mockRestore())
    return () => {
      const ends = timers.mock.calls.filter(([, milliseconds]) => milliseconds === 1_000)
      expect(ends).toHaveLength(1)
      ends[0]![0]()
    }
  }

  test('calls wait for the connections that are open', async () => {
    const pool = limitedPool(1)
    const held = await pool.acquire()
    const [second, third] = [pool.acquire(), pool.acquire()]
    await nextTurn()
    pool.release(held)
    expect(await second).toBe(held)
    pool.release(held)
    expect(await third).toBe(held)
    expect(pool.connections).toBe(1)
  })

  test('waiting calls request no connection for a second after a refusal, and then as many as they need', async () => {
    const pool = limitedPool(1)
    const endPause = pauses()
    const held = await pool.acquire()
    const calls = [pool.acquire(), pool.acquire()]
    await nextTurn()
    const before = requested
    for (let n = 0; n < 20; n++) pool.acquire().catch(() => {})
    await nextTurn()
    expect(requested).toBe(before)

    allowed = 3
    endPause()
    for (const call of calls) expect(await call).not.toBe(held)
    expect(pool.connections).toBe(3)
  })

  test('a call requests a connection at once when the only one broke', async () => {
    const pool = limitedPool(1)
    const held = (await pool.acquire()) as TestConnection
    const waiting = pool.acquire()
    await nextTurn()
    held.destroy()
    allowed = 2
    pool.release(held)
    expect(await waiting).not.toBe(held)
  })

  test('a call waits while the server may still count a connection that was closed', async () => {
    const pool = limitedPool(1)
    const endPause = pauses()
    const old = (await pool.acquire()) as TestConnection
    Object.assign(old, { openedAt: 0, mayBeOutdated: true })
    pool.release(old)
    const waiting = pool.acquire()
    await nextTurn()
    allowed = 2
    endPause()
    expect(await waiting).not.toBe(old)
    expect(pool.connections).toBe(1)
  })

  test('the error of a call that waits too long has the refusal of the server', async () => {
    const pool = limitedPool(1, { deadlineMs: 10 })
    await pool.acquire()
    await expect(pool.acquire()).rejects.toMatchObject({
      code: 'SHARD_BUSY',
      message:
        'test: no connection came free within 5 ms; the call was not sent. A further connection was refused: the user has no more (max_user_connections).',
    })
  })

  test('calls are rejected with the refusal when none of their connections is open', async () => {
    const pool = limitedPool(0)
    const calls = [pool.acquire(), pool.acquire()]
    for (const call of calls) await expect(call).rejects.toBe(limit)
  })
})

test('close ends idle connections, and those in use once they are released', async () => {
  const pool = testPool()
  const [a, b] = [(await pool.acquire()) as TestConnection, (await pool.acquire()) as TestConnection]
  pool.release(a)
  await pool.close()
  expect([a.ended, b.ended]).toEqual([true, false])
  pool.release(b)
  expect(b.ended).toBe(true)
})

/** Takes connections out of the pool, so that it opens them. */
async function take(pool: Pool, count: number): Promise<TestConnection[]> {
  return (await Promise.all(Array.from({ length: count }, () => pool.acquire()))) as TestConnection[]
}

test('after a server has refused a write, all connections that were opened before are closed, idle ones and later those in use', async () => {
  const pool = testPool({ size: 4 })
  const [writer, idle, used] = (await take(pool, 3)) as [TestConnection, TestConnection, TestConnection]
  pool.release(idle)
  writer.mayBeOutdated = true
  pool.release(writer)
  expect([writer.ended, idle.ended, used.ended]).toEqual([true, true, false])
  const young = await pool.acquire()
  pool.release(used)
  pool.release(young)
  expect([used.ended, pool.connections]).toEqual([true, 1])
  expect(await pool.acquire()).toBe(young)
})

test('a new connection to a server that still refuses writes stays for a while', async () => {
  const outdated = { before: -Infinity }
  const pool = testPool({ outdated })
  const [first] = (await take(pool, 1)) as [TestConnection]
  first.mayBeOutdated = true
  pool.release(first)
  const connection = (await pool.acquire()) as TestConnection
  connection.mayBeOutdated = true
  pool.release(connection)
  expect([first.ended, connection.ended]).toEqual([true, false])
  expect(await pool.acquire()).toBe(connection)
  outdated.before -= 10_000
  pool.release(connection)
  expect([connection.ended, pool.connections]).toEqual([true, 0])
})

test('a connection that began to open before a server refused a write is closed once it is open', async () => {
  const { promise: late, resolve: openLate } = Promise.withResolvers<TestConnection>()
  const first = testConnection()
  const opened = [Promise.resolve(first), late]
  const pool = testPool({ size: 2, open: () => opened.shift() ?? Promise.resolve(testConnection()) })
  await pool.acquire()
  const waiting = pool.acquire()
  const slow = testConnection()
  first.mayBeOutdated = true
  pool.release(first)
  openLate(slow)
  const used = await waiting
  expect(used).not.toBe(first)
  expect(used).not.toBe(slow)
  expect([first.ended, slow.ended]).toEqual([true, true])
})

test('a call that waits gets a new connection in place of one to a read-only server', async () => {
  const pool = testPool({ size: 1 })
  const [connection] = (await take(pool, 1)) as [TestConnection]
  const waiting = pool.acquire()
  connection.mayBeOutdated = true
  pool.release(connection)
  expect(await waiting).not.toBe(connection)
})

test('the pools of one server close their old connections together', async () => {
  const outdated = { before: -Infinity }
  const [writes, snapshots] = [testPool({ outdated }), testPool({ outdated })]
  const [writer] = (await take(writes, 1)) as [TestConnection]
  const [reader] = (await take(snapshots, 1)) as [TestConnection]
  snapshots.release(reader)
  writer.mayBeOutdated = true
  writes.release(writer)
  expect(await snapshots.acquire()).not.toBe(reader)
  expect(reader.ended).toBe(true)
})

test('idle connections that were opened before another pool found its server changed are closed, and later ones stay', async () => {
  const outdated = { before: -Infinity }
  const pool = testPool({ size: 3, outdated })
  const [old, same, young] = (await take(pool, 3)) as [TestConnection, TestConnection, TestConnection]
  for (const connection of [old, same, young]) pool.release(connection)
  outdated.before = performance.now()
  old.openedAt = outdated.before - 1
  same.openedAt = outdated.before
  young.openedAt = outdated.before + 1
  expect(await pool.acquire()).toBe(young)
  pool.release(await pool.acquire())
  expect([old, same, young].map(({ ended }) => ended)).toEqual([true, false, false])
  expect(pool.connections).toBe(2)
})
