import { setTimeout as sleep } from 'node:timers/promises'
import type { Driver, SharedCache } from '@looseleaf/core'
import type { SharedCacheAnswer } from '@looseleaf/core/internal'
import { consume } from '@looseleaf/changes'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { DataStore } from '@looseleaf/store'
import { keepOpen } from '@looseleaf/testkit'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { memcachedCache } from '../src/index.ts'
import { hasMemcached, howToInstall, startMemcached, type Memcached } from './start-memcached.ts'

const lacks = !hasMemcached()
const value = (text: string): Uint8Array => new TextEncoder().encode(`sixteen bytes or more: ${text}`)
const leaseOf = (answer: SharedCacheAnswer): string => {
  if (answer === undefined || !('lease' in answer)) throw new Error('This is no lease.')
  return answer.lease
}

describe.skipIf(lacks)(`memcached${lacks ? ` (left out: ${howToInstall})` : ''}`, () => {
  let servers: [Memcached, Memcached]
  let one: SharedCache
  let other: SharedCache
  let keys = 0
  const newKey = (): string => `test:${++keys}`

  beforeAll(async () => {
    servers = [await startMemcached(), await startMemcached()]
  })
  afterAll(() => Promise.all(servers.map((server) => server.kill())))
  beforeEach(() => {
    const factory = memcachedCache({ servers: [servers[0].address], maxStalenessMs: 5_000, timeoutMs: 5_000 })
    one = factory.connect()
    other = factory.connect()
  })
  afterEach(async () => {
    await one.close()
    await other.close()
  })

  test('the first reader that misses gets a lease, and others get nothing until the value is kept', async () => {
    const [key, second] = [newKey(), newKey()]
    const lease = leaseOf((await one.take([key]))[0])
    const [nothing, own] = await other.take([key, second])
    expect(nothing).toBeUndefined()
    await one.keep(key, value('first'), lease)
    await other.keep(second, value('second'), leaseOf(own))
    const bytes = (answers: readonly SharedCacheAnswer[]): string[] =>
      answers.map((answer) =>
        answer !== undefined && 'value' in answer ? new TextDecoder().decode(answer.value) : '',
      )
    expect(bytes(await one.take([second, key]))).toEqual([
      'sixteen bytes or more: second',
      'sixteen bytes or more: first',
    ])
  })

  test('a lease is void once its key was removed, even if another one was given since', async () => {
    const key = newKey()
    const lease = leaseOf((await one.take([key]))[0])
    await other.remove(key)
    await one.keep(key, value('old'), lease)
    const next = leaseOf((await other.take([key]))[0])
    await one.keep(key, value('old'), lease)
    await other.keep(key, value('new'), next)
    await one.keep(key, value('old'), lease)
    expect((await one.take([key]))[0]).toEqual({ value: Buffer.from(value('new')) })
    await one.remove(key)
    await one.remove(key)
    expect((await one.take([key]))[0]).toHaveProperty('lease')
  })

  test('a lease is void once its server has restarted, although the server repeats its numbers', async () => {
    const server = await startMemcached()
    const factory = memcachedCache({ servers: [server.address], maxStalenessMs: 5_000, timeoutMs: 5_000 })
    const [before, after] = [factory.connect(), factory.connect()]
    onTestFinished(async () => {
      await Promise.all([before.close(), after.close()])
      await server.kill()
    })
    const key = newKey()
    const lease = leaseOf((await before.take([key]))[0])
    await server.restart()
    const next = leaseOf((await after.take([key]))[0])
    await before.keep(key, value('old'), lease)
    expect((await after.take([key]))[0]).toBeUndefined()
    await after.keep(key, value('new'), next)
    expect((await before.take([key]))[0]).toEqual({ value: Buffer.from(value('new')) })
  })

  test('a value of another program is removed and reported, and the other keys of the call are answered', async () => {
    const [bad, good] = [newKey(), newKey()]
    await one.keep(good, value('good'), leaseOf((await one.take([good]))[0]))
    // Text, invalid JSON, a number, compressed bytes, bytes that are too short, one byte that is not a lease.
    for (const [flags, bytes] of [
      [0, value('text').toString()],
      [2, 'x'],
      [4, '7'],
      [1, 'x'],
      [9, 'x'],
      [8, ''],
      [8, '7'],
    ] as const) {
      await servers[0].set(bad, flags, bytes)
      const [first, second] = await one.take([bad, good])
      expect(first).toMatchObject({
        failed: {
          message: `memcached ${servers[0].address} had a value of another program under ${bad}; it was removed`,
        },
      })
      expect(second).toEqual({ value: Buffer.from(value('good')) })
      leaseOf((await one.take([bad]))[0])
      await one.remove(bad)
    }
  })

  test('leases and values expire within their times', { timeout: 20_000 }, async () => {
    const [leased, kept] = [newKey(), newKey()]
    const lease = leaseOf((await one.take([leased]))[0])
    await one.keep(kept, value('kept'), leaseOf((await one.take([kept]))[0]))
    const keptAt = performance.now()
    while (!('lease' in ((await one.take([kept]))[0] ?? {}))) await sleep(20)
    // The lease may have been two seconds old, which counts too.
    expect(performance.now() - keptAt).toBeLessThan(3_000)
    await sleep(1_000)
    await one.keep(leased, value('late'), lease)
    expect((await one.take([leased]))[0]).not.toHaveProperty('value')
  })

  test('a server that is gone or hangs is an error within the timeout, and works again, empty', async () => {
    const key = newKey()
    const quick = memcachedCache({
      servers: [servers[0].address],
      maxStalenessMs: 5_000,
      timeoutMs: 500,
    }).connect()
    await quick.keep(key, value('kept'), leaseOf((await quick.take([key]))[0]))
    onTestFinished(() => servers[0].resume())
    await servers[0].pause()
    expect((await quick.take([key]))[0]).toHaveProperty('failed')
    const began = performance.now()
    expect((await quick.take([key]))[0]).toHaveProperty('failed')
    await expect(quick.remove(key)).rejects.toMatchObject({
      code: 'CACHE_UNAVAILABLE',
      message: expect.stringContaining(`memcached ${servers[0].address}, gets: `),
    })
    // After a failure the server is not asked for a second, so there is no wait.
    expect(performance.now() - began).toBeLessThan(400)
    servers[0].resume()
    await servers[0].kill()
    await expect(quick.remove(key)).rejects.toThrow()
    await servers[0].restart()
    const isLost = ([answer]: readonly SharedCacheAnswer[]): boolean =>
      answer !== undefined && 'failed' in answer
    await expect.poll(async () => isLost(await quick.take([key])), { timeout: 10_000 }).toBe(false)
    // A lease of just before may still be there.
    expect((await quick.take([key]))[0] ?? {}).not.toHaveProperty('value')
    await quick.close()
  })

  test('keys of a server that is down are not moved to another one', async () => {
    const cache = memcachedCache({
      servers: servers.map(({ address }) => address),
      maxStalenessMs: 5_000,
      timeoutMs: 500,
    }).connect()
    const all = Array.from({ length: 40 }, newKey)
    for (const [i, answer] of (await cache.take(all)).entries())
      await cache.keep(all[i]!, value(String(i)), leaseOf(answer))
    await servers[1].pause()
    // Keys of the other server are answered, whatever else the call asks for.
    const taken = await cache.take(all)
    const failed = taken.filter((answer) => answer !== undefined && 'failed' in answer).length
    expect(taken.filter((answer) => answer !== undefined && 'value' in answer)).toHaveLength(40 - failed)
    const removed = await Promise.allSettled(all.map((key) => cache.remove(key)))
    const found = removed.filter(({ status }) => status === 'fulfilled')
    expect(found.length).toBeGreaterThan(5)
    expect(found.length).toBeLessThan(35)
    servers[1].resume()
    await cache.close()
  })

  describe('under stores', () => {
    let memory: Driver
    let stores: DataStore[]
    const open = async (): Promise<DataStore> => {
      const cache = memcachedCache({
        servers: [servers[0].address],
        maxStalenessMs: 60_000,
        timeoutMs: 5_000,
      })
      const store = await DataStore.open({ shards: keepOpen(memory), cache, migrate: true })
      stores.push(store)
      return store
    }
    beforeEach(async () => {
      memory = await memoryShards(2).connect()
      stores = []
    })
    afterEach(async () => {
      await Promise.all(stores.map((store) => store.close()))
      await memory.close()
    })

    test('a store reads the values that another has kept, and never one from before an acknowledged write', async () => {
      const both = [await open(), await open()] as const
      const ids = Array.from({ length: 5 }, () => both[0].newId())
      const written = new Map<string, number>()
      let n = 0
      const write = async (): Promise<void> => {
        for (let i = 0; i < 300; i++) {
          const id = ids[i % ids.length]!
          const number = ++n
          await both[i % 2]!.put({ n: number, text: 'é'.repeat(i) }, { id })
          written.set(id, number)
        }
      }
      let reads = 0
      let isDone = false
      const read = async (store: DataStore): Promise<void> => {
        while (!isDone) {
          const least = ids.map((id) => written.get(id) ?? 0)
          const found = await store.getMany(ids)
          for (const [i, bag] of found.entries())
            expect(Number(bag?.['n'] ?? 0)).toBeGreaterThanOrEqual(least[i]!)
          reads++
        }
      }
      await Promise.all([write().finally(() => (isDone = true)), read(both[0]), read(both[1]), read(both[1])])
      expect(reads).toBeGreaterThan(20)
      const hits = both.map((store) => store.stats().cache!.hits)
      expect(Math.min(...hits)).toBeGreaterThan(0)
    })

    test('a copy of a store with its own namespace does not read the values of the original', async () => {
      const original = await open()
      const { id } = await original.put({ of: 'original' })
      const shards = await memoryShards(2).connect()
      onTestFinished(() => shards.close())
      // The copy has the same ids, and the same id of the store.
      for (const [i, shard] of shards.shards.entries()) {
        await shard.createTables()
        await shard.catalog.init((await memory.shards[i]!.catalog.load())!)
      }
      const openCopy = async (namespace: string | undefined): Promise<DataStore> => {
        const cache = memcachedCache({
          servers: [servers[0].address],
          maxStalenessMs: 60_000,
          timeoutMs: 5_000,
          namespace,
        })
        const store = await DataStore.open({ shards: keepOpen(shards), cache })
        stores.push(store)
        return store
      }
      const copy = await openCopy('staging')
      await copy.put({ of: 'copy' }, { id })
      // From now on both keep the entity.
      for (const store of [original, copy])
        await expect
          .poll(async () => {
            await store.get(id)
            return store.stats().cache!.hits
          })
          .toBeGreaterThan(0)
      expect(await original.get(id)).toMatchObject({ of: 'original' })
      expect(await copy.get(id)).toMatchObject({ of: 'copy' })
      expect(await (await openCopy(undefined)).get(id)).toMatchObject({ of: 'original' })
      expect(await (await openCopy('staging')).get(id)).toMatchObject({ of: 'copy' })
    })

    test('a consumer removes values that other writers have changed, long before they expire', async () => {
      const [store, reader] = [await open(), await open()]
      const { id } = await store.put({ n: 1 })
      await reader.get(id)
      // From now on the store keeps the entity.
      await expect
        .poll(async () => {
          await reader.get(id)
          return reader.stats().cache!.hits
        })
        .toBeGreaterThan(0)
      const past = await DataStore.open({ shards: keepOpen(memory) })
      const consumer = consume(store, 'evict', (change) => store.evict(change.id), {
        from: 'beginning',
        pollMs: 10,
      })
      for (let n = 2; n < 6; n++) {
        await past.put({ n }, { id })
        await expect.poll(async () => (await reader.get(id))?.['n'], { timeout: 10_000 }).toBe(n)
      }
      expect(reader.stats().cache!.failures).toBe(0)
      await consumer.stop()
      await past.close()
    })

    test('stores work while memcached is down, and use it again afterwards', async () => {
      const store = await open()
      const { id } = await store.put({ n: 1 })
      await servers[0].kill()
      await store.put({ n: 2 }, { id })
      expect(await store.get(id)).toMatchObject({ n: 2 })
      expect(store.stats().cache!.failures).toBeGreaterThan(0)
      await servers[0].restart()
      // A write while the server is not asked cannot remove the value, which lives for a minute.
      await sleep(1_100)
      const next = await store.put({ n: 3 })
      while (store.stats().cache!.hits === 0) {
        await store.get(next.id)
        await sleep(20)
      }
    })
  })
})
