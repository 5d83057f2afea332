import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startServers } from '@looseleaf-tooling/mariadb'
import { isLooseleafError, type Shard } from '@looseleaf/core'
import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { cleanUp, epoch, freshBench, insertLocked, settings } from '../../test/bench.ts'
import { until } from '../../test/until.ts'
import { mysqlShards, tunedMysqlShards } from '../mysql-shards.ts'
import { parseShardAddress } from '../connection/shard-address.ts'
import { connectShard } from '../shard/connect-shard.ts'

const bench = await freshBench()

const refusal = /calls are refused until it answers again/

/** Makes calls until one is rejected at once. Returns the errors before it. */
async function callUntilRefused(shard: Shard): Promise<unknown[]> {
  const errors: unknown[] = []
  await until(async () => {
    const error: unknown = await shard.now().catch((reason: unknown) => reason)
    if (isLooseleafError(error) && refusal.test(error.message)) return true
    errors.push(error)
    return false
  })
  return errors
}

async function callUntilAnswered(shard: Shard): Promise<void> {
  await until(() =>
    shard.now().then(
      () => true,
      () => false,
    ),
  )
}

test('calls to a stopped server are rejected after a few failures, and answered once it is back', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'looseleaf-breaker-'))
  cleanUp(() => rm(folder, { recursive: true, force: true }))
  const first = await startServers(1, { folder, database: 'feed' })
  cleanUp(() => first.stop())
  const url = first.urls[0] as string
  const told: [string, boolean][] = []
  const driver = await tunedMysqlShards([url], {}, { breakerFailures: 3, breakerProbeMs: 50 }).connect({
    onRefusing: (name, isRefusing) => told.push([name, isRefusing]),
  })
  cleanUp(() => driver.close())
  const shard = driver.shards[0] as Shard
  await first.stop()

  const errors = await callUntilRefused(shard)
  // The idle connection may be found lost first, and then the server no longer listens.
  expect(errors.length).toBeLessThanOrEqual(4)
  for (const error of errors) expect(error).toMatchObject({ code: 'SHARD_UNAVAILABLE', retryable: true })

  const again = await startServers(1, { folder, database: 'feed', portBase: Number(new URL(url).port) })
  cleanUp(() => again.stop())
  expect(again.urls).toEqual([url])
  await callUntilAnswered(shard)
  // Each event occurs once, however often the breaker probed.
  expect(told.slice(0, 2)).toEqual([
    [shard.name, true],
    [shard.name, false],
  ])
  const calls = await Promise.all(Array.from({ length: 30 }, () => shard.now()))
  expect(calls.every((now) => now > 0)).toBe(true)
})

test('a silent listener gets only probes, and the first answered one closes the breaker', async () => {
  const { proxy, url } = await bench.behindProxy()
  const options = { breakerFailures: 3, breakerProbeMs: 50, connectTimeoutMs: 1_000, poolSize: 2 }
  const { shard } = await bench.connect(options, url)
  proxy.cut()
  proxy.silence = 'both'
  await callUntilRefused(shard)

  const before = proxy.accepted
  const results = await Promise.allSettled(Array.from({ length: 500 }, () => shard.now()))
  expect(results.every((result) => result.status === 'rejected')).toBe(true)
  // Five hundred calls opened no connection; one probe may have been due.
  expect(proxy.accepted - before).toBeLessThanOrEqual(1)

  proxy.silence = 'none'
  const silent = proxy.accepted
  await callUntilAnswered(shard)
  // The answered probe and the connection of the call, and one more of each for a machine that is too busy to answer
  // in time.
  expect(proxy.accepted - silent).toBeGreaterThanOrEqual(2)
  expect(proxy.accepted - silent).toBeLessThanOrEqual(4)
})

test('calls that wait for a connection are rejected when the breaker opens', async () => {
  const { proxy, url } = await bench.behindProxy()
  const options = { breakerFailures: 1, breakerProbeMs: 60_000, connectTimeoutMs: 2_000, poolSize: 1 }
  const { shard } = await bench.connect({ ...options, deadlineMs: 3_600_000 }, url)
  proxy.cut()
  proxy.silence = 'both'
  const results = await Promise.allSettled(Array.from({ length: 50 }, () => shard.now()))
  for (const result of results) {
    expect(result).toMatchObject({ status: 'rejected', reason: { code: 'SHARD_UNAVAILABLE' } })
  }
})

test('silent connections open the breaker, by the connections that kill their calls', async () => {
  const { proxy, url } = await bench.behindProxy()
  const options = { breakerFailures: 1, breakerProbeMs: 50, connectTimeoutMs: 2_000, deadlineMs: 2_000 }
  const { shard } = await bench.connect(options, url)
  proxy.silence = 'both'
  const [error] = await callUntilRefused(shard)
  expect(error).toMatchObject({ code: 'DEADLINE' })
  proxy.silence = 'none'
  await callUntilAnswered(shard)
})

/** Makes calls, without waiting for the earlier ones, until one is rejected. */
function messageOnceRefused(shard: Shard): Promise<string> {
  return until(async () => {
    const error: unknown = await Promise.race([shard.now().catch((reason: unknown) => reason), sleep(100)])
    return isLooseleafError(error) && refusal.test(error.message) ? error.message : undefined
  })
}

/** Makes calls until one is not answered: the signal that freezes a server reaches its threads one after the other. */
function firstUnanswered(shard: Shard): Promise<{ readonly call: Promise<number> }> {
  return until(async () => {
    const call = shard.now()
    const isAnswered = await Promise.race([call.then(() => true), sleep(200, false)])
    return isAnswered ? undefined : { call }
  })
}

/** Options with which no count of failures and no deadline matters within a test. */
const patient = { breakerFailures: 1_000, deadlineMs: 3_600_000, breakerProbeMs: 50, connectTimeoutMs: 1_500 }

test('a frozen server opens the breaker while waiting calls have hours left, and answers them when it thaws', async () => {
  const frozen = await startServers(1, { database: 'feed', inMemory: true })
  cleanUp(() => frozen.stop())
  const { shard } = await bench.connect({ ...patient, poolSize: 1 }, frozen.urls[0])
  const pid = frozen.pids[0] as number
  process.kill(pid, 'SIGSTOP')
  cleanUp(() => void process.kill(pid, 'SIGCONT'))
  const waiting = await firstUnanswered(shard)
  let hasEnded = false
  void waiting.call.finally(() => (hasEnded = true))
  expect(await messageOnceRefused(shard)).toMatch(/does not respond/)
  expect(hasEnded).toBe(false)

  process.kill(pid, 'SIGCONT')
  expect(await waiting.call).toBeGreaterThan(0)
  await callUntilAnswered(shard)
})

test('a silent network opens the breaker, with open connections and with new ones', async () => {
  const { proxy, url } = await bench.behindProxy()
  const { shard } = await bench.connect({ ...patient, poolSize: 2 }, url)
  await shard.now()
  proxy.silence = 'to-client'
  const waiting = Promise.allSettled([shard.now(), shard.now(), shard.now()])
  // The first call waits for its answer, the second for a new connection, the third in the queue.
  expect(await messageOnceRefused(shard)).toMatch(/does not respond/)
  proxy.silence = 'none'
  proxy.cut()
  await waiting
  await callUntilAnswered(shard)
})

test('a statement that waits for a lock does not open the breaker, since the server answers others', async () => {
  const { proxy, url } = await bench.behindProxy()
  const { shard } = await bench.migrate({ ...patient, breakerFailures: 1, lockWaitSeconds: 3_600 }, url)
  const holder = await bench.observe()
  const entity = await insertLocked(shard, holder)
  const before = proxy.accepted
  const writing = shard.entities.replace([{ ...entity, base: 1, version: 2 }], { epoch })
  // The server was asked several times, and answered each time.
  await until(() => proxy.accepted >= before + 3)
  await holder.query('ROLLBACK')
  expect(await writing).toEqual([true])
  expect(await shard.now()).toBeGreaterThan(0)
})

test('a server that has sent a byte counts as slow, and does not open the breaker', async () => {
  let accepted = 0
  const listener = createServer((socket) => {
    accepted++
    socket.on('error', () => undefined)
    socket.write('\0')
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  cleanUp(() => void listener.close())
  const { port } = listener.address() as AddressInfo
  const pool = connectShard(
    parseShardAddress(`mysql://u:p@127.0.0.1:${port}/d`, 'MySQL shard 0', undefined),
    {
      ...settings,
      ...patient,
      connectTimeoutMs: 50,
    },
  )
  cleanUp(() => pool.close())
  for (let i = 1; i <= 5; i++) {
    await expect(pool.acquire()).rejects.toThrow(/no connection could be opened within 50 ms/)
    expect(accepted).toBe(i)
  }
})

test('errors of statements, locks, deadlines and privileges never open the breaker', async () => {
  const never = { breakerFailures: 1, breakerProbeMs: 600_000 }
  const { shard } = await bench.migrate({ ...never, lockWaitSeconds: 1, poolSize: 8 })
  const spec = { table: 'ix_words', columns: [{ name: 's', type: 'string' }] } as const
  await shard.createIndexTable(spec)
  const holder = await bench.observe()
  const entity = await insertLocked(shard, holder)

  const slow = await bench.connect({ ...never, deadlineMs: 1_500 })
  const write = { ...entity, base: 1, version: 2 }
  const tooLong = { key: [Buffer.alloc(600, 97)], entityId: randomBytes(16), version: 1 }
  const codes = (
    await Promise.allSettled([
      ...Array.from({ length: 8 }, () => shard.index(spec).upsert([tooLong])),
      ...Array.from({ length: 8 }, () => shard.index({ ...spec, table: 'ix_missing' }).count({ prefix: [] })),
      ...Array.from({ length: 4 }, () => shard.entities.replace([write], { epoch })),
      ...Array.from({ length: 4 }, () => slow.shard.entities.replace([write], { epoch })),
    ])
  ).map((result) => result.status === 'rejected' && (result.reason as { code: string }).code)
  await holder.query('ROLLBACK')
  expect(Object.groupBy(codes, (code) => String(code))).toEqual({
    STATEMENT_FAILED: Array(8).fill('STATEMENT_FAILED'),
    INDEX_NOT_FOUND: Array(8).fill('INDEX_NOT_FOUND'),
    SHARD_BUSY: Array(4).fill('SHARD_BUSY'),
    OUTCOME_UNKNOWN: Array(4).fill('OUTCOME_UNKNOWN'),
  })
  expect(await shard.now()).toBeGreaterThan(0)
  expect(await slow.shard.now()).toBeGreaterThan(0)
})

test('calls to one of two servers that hangs or is gone are rejected at once, and the error says that the other one answers', async () => {
  const servers = await startServers(2, { database: 'feed', inMemory: true })
  cleanUp(() => servers.stop())
  const driver = await mysqlShards(servers.urls, { deadlineMs: 1_000, connectTimeoutMs: 500 }).connect()
  cleanUp(() => driver.close())
  const [live, dead] = driver.shards as [Shard, Shard]
  process.kill(servers.pids[1]!, 'SIGSTOP')
  const expectAtOnce = async (): Promise<void> => {
    await callUntilRefused(dead)
    const times: number[] = []
    for (let call = 0; call < 10; call++) {
      const began = performance.now()
      const error: unknown = await dead.now().catch((reason: unknown) => reason)
      times.push(performance.now() - began)
      expect(error).toMatchObject({
        code: 'SHARD_UNAVAILABLE',
        shard: dead.name,
        message: expect.stringMatching(
          /1 of 2 shards is reachable: calls that need no other shard/,
        ) as string,
      })
    }
    // A loaded machine may delay some of the calls.
    expect(Math.min(...times)).toBeLessThan(50)
    expect(await live.now()).toBeGreaterThan(0)
  }
  await expectAtOnce()
  process.kill(servers.pids[1]!, 'SIGCONT')
  await callUntilAnswered(dead)
  process.kill(servers.pids[1]!, 'SIGKILL')
  await expectAtOnce()
})
