import { setTimeout as sleep } from 'node:timers/promises'
import { freshShards } from '@looseleaf-tooling/vitest/mariadb'
import { isLooseleafError, type LooseleafError } from '@looseleaf/core'
import { createConnection } from 'mysql2/promise'
import { afterAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { describeTuned, type BenchOptions } from '../../test/bench.ts'

const { urls } = await freshShards(1)
const { hostname: host, port, pathname } = new URL(urls[0] as string)
const database = decodeURIComponent(pathname.slice(1))
const user = `rotating_${process.pid}`
const admin = await createConnection(urls[0] as string)
await admin.query(`CREATE USER '${user}'@'%' IDENTIFIED BY 'first'`)
await admin.query(`GRANT ALL ON \`${database}\`.* TO '${user}'@'%'`)
afterAll(async () => {
  await admin.query(`DROP USER '${user}'@'%'`)
  await admin.end()
})
beforeEach(() => setPassword('first'))

async function setPassword(password: string): Promise<void> {
  await admin.query(`ALTER USER '${user}'@'%' IDENTIFIED BY '${password}'`)
}

const factory = (password: () => unknown, options: BenchOptions = {}) =>
  // A program in JavaScript may pass any function.
  describeTuned([{ host, port: Number(port), database, user, password: password as () => string }], options)

test('a function returns the password of each new connection, however long it takes', async () => {
  let current = 'first'
  let calls = 0
  const shards = factory(async () => {
    calls++
    await sleep(5)
    return current
  })
  const driver = await shards.connect()
  onTestFinished(() => driver.close())
  expect(calls).toBe(1)
  current = 'second'
  await setPassword(current)
  // The open connection stays; the others are opened with the new password.
  await Promise.all(Array.from({ length: 8 }, () => driver.shards[0]!.now()))
  expect(calls).toBeGreaterThan(1)
})

test("a slow function does not shorten the server's time", async () => {
  const connectTimeoutMs = 2_000
  let calls = 0
  const shards = factory(
    () => {
      // No other code runs here, so the deadline cannot end the call although it takes all of its time.
      if (calls++ > 0) return 'first'
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, connectTimeoutMs + 100)
      return 'first'
    },
    { connectTimeoutMs },
  )
  const driver = await shards.connect()
  onTestFinished(() => driver.close())
  expect(await driver.shards[0]!.now()).toBeGreaterThan(0)
})

test('a failing function makes the shard unavailable until it works again, and does not open the breaker', async () => {
  let isWorking = true
  const sso = new Error('the token service is away')
  const shards = factory(
    () => {
      if (!isWorking) throw sso
      return 'first'
    },
    { breakerFailures: 1 },
  )
  const driver = await shards.connect()
  onTestFinished(() => driver.close())
  const several = (): Promise<PromiseSettledResult<number>[]> =>
    Promise.allSettled(Array.from({ length: 8 }, () => driver.shards[0]!.now()))
  isWorking = false
  const failed = (await several()).filter(({ status }) => status === 'rejected')
  expect(failed.length).toBeGreaterThan(0)
  for (const one of failed) {
    expect(one).toHaveProperty('reason', {
      asymmetricMatch: (error: LooseleafError) =>
        isLooseleafError(error, 'SHARD_UNAVAILABLE') &&
        error.message.includes('the function for the password failed') &&
        error.cause === sso,
    })
  }
  isWorking = true
  expect((await several()).map(({ status }) => status)).toEqual(Array(8).fill('fulfilled'))
})

test('a function that never returns ends at the timeout, and one that returns no string is SHARD_DENIED', async () => {
  await expect(
    factory(() => new Promise(() => {}), { connectTimeoutMs: 50 }).connect(),
  ).rejects.toMatchObject({
    code: 'SHARD_UNAVAILABLE',
    message: expect.stringMatching(/took longer than 50 ms/),
  })
  await expect(factory(() => undefined).connect()).rejects.toMatchObject({
    code: 'SHARD_DENIED',
    retryable: false,
    message: expect.stringMatching(/has to return a string; got nothing/),
  })
})
