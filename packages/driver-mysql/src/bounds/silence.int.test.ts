import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { CompiledQuery, type QueryResult } from 'kysely'
import type { Connection } from 'mysql2/promise'
import { beforeEach, describe, expect, test } from 'vitest'
import { cleanUp, freshBench, settings as usual, threadsAt } from '../../test/bench.ts'
import type { Silence, TcpProxy } from '../../test/tcp-proxy.ts'
import { until } from '../../test/until.ts'
import { parseShardAddress } from '../connection/shard-address.ts'
import { connectShard, type ShardPool, type ShardSettings } from '../shard/connect-shard.ts'

const SIZE = 4

const bench = await freshBench()
let proxy: TcpProxy
let through: string
let observer: Connection
let pool: ShardPool

beforeEach(async () => {
  const behind = await bench.behindProxy()
  proxy = behind.proxy
  through = behind.url
  observer = await bench.observe()
})

function openPool(settings: Partial<ShardSettings> = {}): ShardPool {
  pool = connectShard(parseShardAddress(through, 'MySQL shard 0', undefined), {
    ...usual,
    poolSize: SIZE,
    deadlineMs: 200,
    connectTimeoutMs: 1_000,
    lockWaitSeconds: 3_600,
    breakerFailures: 1_000,
    ...settings,
  })
  cleanUp(() => pool.close())
  return pool
}

async function ask(sql: string, parameters: readonly unknown[] = []): Promise<QueryResult<unknown>> {
  const connection = await pool.acquire()
  try {
    return await connection.executeQuery(CompiledQuery.raw(sql, [...parameters]))
  } finally {
    pool.release(connection)
  }
}

/** Makes this many concurrent calls. Resolves with their codes, `ok` for those that were answered. */
async function askAll(times: number, sql: string, parameters: readonly unknown[] = []): Promise<string[]> {
  const results = await Promise.allSettled(Array.from({ length: times }, () => ask(sql, parameters)))
  return results.map((result) =>
    result.status === 'fulfilled' ? 'ok' : String((result.reason as { code?: unknown }).code),
  )
}

/** Waits until every place of the pool answers a call at the same time, so none was lost. */
async function expectWholePool(): Promise<void> {
  await until(async () => {
    // Each look uses the connections, so none of them is closed as idle.
    const codes = await askAll(SIZE, 'SELECT SLEEP(0.01)')
    const isWhole =
      codes.every((code) => code === 'ok') && pool.state().open === SIZE && pool.state().waiting === 0
    return isWhole && proxy.open === SIZE && (await threadsAt(observer)).length === SIZE
  })
}

/** Longer than the server keeps a session that a busy process has not killed in time. */
const PATIENCE_MS = 300_000

describe.each<Silence>(['to-server', 'to-client', 'both'])(
  'a network that loses everything %s',
  { timeout: PATIENCE_MS },
  (silence) => {
    test('every call ends at its deadline, and frees its place in the pool', async () => {
      openPool()
      await expectWholePool()
      proxy.silence = silence
      for (let round = 0; round < 3; round++) {
        const codes = await askAll(SIZE, 'SELECT 1')
        expect(codes).not.toContain('ok')
      }
      proxy.silence = 'none'
      await expectWholePool()
    })

    test('a loss within a statement leaves nothing behind but the statement on the server', async () => {
      openPool({ deadlineMs: 1_000 })
      await until(async () => {
        await expectWholePool()
        let hasEnded = false
        const asking = askAll(SIZE, 'SELECT SLEEP(600)').finally(() => (hasEnded = true))
        const isUnderWay = async (): Promise<boolean> =>
          (await threadsAt(observer, 'SELECT SLEEP(600)')).length === SIZE
        // On a busy machine some calls may begin after the first has been ended.
        await until(async () => hasEnded || (await isUnderWay()))
        if (hasEnded) return false
        proxy.silence = silence
        expect(await asking).toEqual(Array(SIZE).fill('CALL_DEADLINE'))
        return true
      })
      proxy.silence = 'none'
      await expectWholePool()
    })
  },
)

test('a silent listener costs a call its wait for a connection, and no place in the pool', async () => {
  proxy.silence = 'both'
  openPool({ connectTimeoutMs: 50 })
  for (let round = 0; round < 5; round++) {
    expect(await askAll(SIZE * 5, 'SELECT 1')).toEqual(Array(SIZE * 5).fill('SHARD_UNAVAILABLE'))
  }
  await until(() => pool.state().open === 0)
  proxy.silence = 'none'
  await until(async () => (await askAll(1, 'SELECT 1'))[0] === 'ok')
})

test('slow statements are killed on the server, and hundreds of them leave no connection', async () => {
  // A connection that opens after its call has given up is idle in the end.
  openPool({ deadlineMs: 100, idleMs: 1_000 })
  await until(async () => (await askAll(1, 'SELECT 1'))[0] === 'ok')
  let expired = 0
  while (expired < 200) {
    const codes = await askAll(SIZE, 'SELECT SLEEP(600)')
    expired += codes.filter((code) => code === 'CALL_DEADLINE').length
  }
  await until(async () => (await threadsAt(observer)).length === 0 && proxy.open === 0)
  expect(pool.state().open).toBe(0)
})

test('an abandoned connection is closed at once, although its goodbye is not answered', async () => {
  openPool({ connectTimeoutMs: 100 })
  const made: Socket[] = []
  const onSocket = (message: unknown): void => void made.push((message as { socket: Socket }).socket)
  subscribe('net.client.socket', onSocket)
  cleanUp(() => void unsubscribe('net.client.socket', onSocket))
  const ofDriver = (): number =>
    made.filter((socket) => socket.remotePort === proxy.port && !socket.destroyed).length
  await expectWholePool()
  expect(pool.state().open).toBe(SIZE)
  expect(ofDriver()).toBe(SIZE)
  proxy.silence = 'both'
  for (let round = 0; round < 5; round++) await askAll(SIZE, 'SELECT 1')
  await until(() => pool.state().open === 0 && ofDriver() === 0)
  // The network has not noticed the loss.
  expect(proxy.open).toBeGreaterThanOrEqual(SIZE)
})

const resources = (kind: string): number =>
  process.getActiveResourcesInfo().filter((name) => name === kind).length

test('hundreds of expiries leave no sockets, no timers and no bodies in memory', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const BODY = 512 * 1024
  const inUse = (): number => {
    collect()
    const { arrayBuffers, heapUsed } = process.memoryUsage()
    return arrayBuffers + heapUsed
  }

  const size = 20
  // A call that expires before it is sent leaves an idle connection.
  openPool({ poolSize: size, deadlineMs: 250, idleMs: 2_000 })
  // A call without a connection of its own would wait for one in vain, and its attempt to connect would hold a place for a second.
  const isWhole = async (): Promise<boolean> =>
    (await askAll(size, 'SELECT SLEEP(0.01)')).every((code) => code === 'ok') && pool.state().idle === size
  const expire = async (times: number): Promise<void> => {
    let expired = 0
    while (expired < times) {
      proxy.silence = 'none'
      await until(isWhole)
      proxy.silence = 'to-server'
      const codes = await askAll(size, 'SELECT LENGTH(?)', [Buffer.alloc(BODY)])
      expired += codes.filter((code) => code === 'CALL_DEADLINE').length
    }
    proxy.silence = 'none'
    await until(() => pool.state().open === 0 && proxy.sockets === 0)
  }
  await expire(20)
  const [memory, sockets, timers] = [inUse(), resources('TCPSocketWrap'), resources('Timeout')]
  await expire(200)
  // Connections that are still being closed need a moment, such as one of the killer.
  await until(() => resources('TCPSocketWrap') <= sockets)
  // The runner has timers of its own. One per expiry would be hundreds.
  await until(() => resources('Timeout') - timers < 20)
  // Kept bodies would be 100 MB.
  await until(() => inUse() - memory < 40 * BODY)
  expect(pool.state().open).toBe(0)
})

test('a call that waits for a connection leaves the queue at its signal', async () => {
  openPool({ poolSize: 1, deadlineMs: 600_000 })
  const held = await pool.acquire()
  const controller = new AbortController()
  const waiting = pool.acquire(controller.signal)
  expect(pool.state().waiting).toBe(1)
  controller.abort()
  await expect(waiting).rejects.toMatchObject({ code: 'ABORTED' })
  expect(pool.state().waiting).toBe(0)
  pool.release(held)
})
