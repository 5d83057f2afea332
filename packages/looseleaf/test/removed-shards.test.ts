import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bucketsIn, systemRandomness } from '@looseleaf/core/internal'
import { moveBuckets } from '@looseleaf/mover'
import { faultyDriver, keepOpen, type FaultPlan } from '@looseleaf/testkit'
import { through } from '@looseleaf-tooling/kit/changed-driver'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  checkIndex,
  cleanIndex,
  consume,
  DataStore,
  defineIndex,
  dropConsumer,
  LooseleafError,
  memoryShards,
  readConsumers,
  sqliteShards,
  startCleaner,
  type DataStoreOptions,
  type Driver,
  type EntityChange,
  type EntityId,
} from '../src/index.ts'

const byUser = defineIndex('by_user', { properties: { user: 'string', n: 'integer' }, shardOn: 'user' })
const byRank = defineIndex('by_rank', { properties: { n: 'integer' }, shardOn: 'id' })
const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name', unique: true })
const byGroup = defineIndex('by_group', { properties: { group: 'string' }, shardOn: 'group' })
const indexes = [byUser, byRank, byName]

const bagOf = (n: number): object => ({
  user: `user ${n % 5}`,
  n,
  name: `name ${n}`,
  group: `group ${n % 3}`,
})

/** Moves all buckets of a shard to the others. */
async function drain(store: DataStore, number: number): Promise<void> {
  const { layout } = store.context.catalog.current()
  const buckets = bucketsIn(layout!.shards[number]!.buckets!)
  const targets = layout!.shards.flatMap(({ state }, each) =>
    each === number || state === 'removed' ? [] : [each],
  )
  for (const [place, to] of targets.entries()) {
    const some = buckets.filter((_, i) => i % targets.length === place)
    await moveBuckets(store, { from: number, to, buckets: some.join() })
  }
}

/** Takes this many changes. */
async function take(store: DataStore, from: string, count: number): Promise<readonly EntityChange[]> {
  const changes: EntityChange[] = []
  for await (const change of store.changes({ from, pollMs: 10 })) {
    changes.push(change)
    if (changes.length === count) break
  }
  return changes
}

const open = (folder: string, options: Partial<DataStoreOptions> = {}): Promise<DataStore> =>
  DataStore.open({
    shards: sqliteShards({ folder, shards: 3, durability: 'normal' }),
    indexes,
    time: leapingTime(),
    onWarning: () => {},
    ...options,
  })

/** Methods that change a database. */
const WRITES = new Set(['change', 'claim', 'save', 'flush', 'add'])

/** The owner of a lease may claim it again, so that the next process need not wait for the end of a dead one's lease. */
const oneOwner = { ...systemRandomness, uuid: () => '11111111-1111-4111-8111-111111111111' }

const unavailable = (number: number): LooseleafError => {
  const shard = `memory ${number}`
  return new LooseleafError('SHARD_UNAVAILABLE', `${shard} is switched off.`, { shard })
}

function deleteShard(folder: string, number: number): void {
  for (const file of readdirSync(folder)) if (file.startsWith(`shard-${number}.`)) rmSync(join(folder, file))
}

describe.each([1, 0])('after shard %i of three was removed and its file deleted,', (removed) => {
  /** A store whose shard is drained. */
  let drained: string
  let folder: string
  let store: DataStore
  /** A process that opened the store before the removal, and has made no call since. */
  let sleeper: DataStore
  let ids: readonly EntityId[]
  let cursor: string

  beforeAll(async () => {
    drained = mkdtempSync(join(tmpdir(), 'looseleaf-drained-'))
    const made = await open(drained, { migrate: true, queryTimeMs: 500 })
    ids = (await made.putMany(Array.from({ length: 60 }, (_, n) => bagOf(n)))).map(({ id }) => id)
    await drain(made, removed)
    cursor = (await take(made, 'beginning', 60)).at(-1)!.cursor
    await made.close()
  }, 60_000)
  afterAll(() => rmSync(drained, { recursive: true }))

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'looseleaf-removed-'))
    cpSync(drained, folder, { recursive: true })
    ;[store, sleeper] = await Promise.all([open(folder), open(folder)])
    await store.shards.remove(removed)
    deleteShard(folder, removed)
  })
  afterEach(async () => {
    await Promise.all([store.close(), sleeper.close()])
    rmSync(folder, { recursive: true })
  })

  test('calls of a process that has slept go on', async () => {
    for (const [n, id] of ids.entries()) expect(await sleeper.get(id)).toMatchObject({ n })
    await sleeper.put(bagOf(100))
    expect(await sleeper.putMany([bagOf(101), bagOf(102)])).toHaveLength(2)
    await sleeper.update(ids[0]!, (bag) => ({ ...bag, user: 'new' }))
    expect(await sleeper.delete(ids[1]!)).toBe(true)
    await expect(sleeper.put(bagOf(2))).rejects.toMatchObject({ code: 'DUPLICATE_KEY' })
    expect((await sleeper.query(byRank, {}, { scatter: true, limit: 100 })).items).toHaveLength(62)
    expect((await store.query(byUser, { user: 'new' })).items).toHaveLength(1)
    const listed = await sleeper.shards.list()
    expect(listed.map(({ state, error }) => error ?? state)).toEqual(
      [0, 1, 2].map((number) => (number === removed ? 'removed' : 'serving')),
    )
    expect((await sleeper.status()).shards.map(({ error }) => error)).toEqual([undefined, undefined])
    expect(sleeper.stats().shards).toHaveLength(2)
  })

  test.each(['putMany', 'query', 'update', 'addIndex', 'changes', 'scan'] as const)(
    'a first %s of a process that has slept succeeds',
    async (call) => {
      if (call === 'putMany') await sleeper.putMany(Array.from({ length: 20 }, (_, n) => bagOf(200 + n)))
      if (call === 'query')
        expect((await sleeper.query(byRank, {}, { scatter: true, limit: 100 })).items).toHaveLength(60)
      if (call === 'update')
        for (const id of ids) await sleeper.update(id, (bag) => ({ ...bag, user: 'new' }))
      if (call === 'addIndex') await sleeper.addIndex(byGroup)
      if (call === 'changes') expect(await take(sleeper, 'beginning', 60)).toHaveLength(60)
      if (call === 'scan') expect(await Array.fromAsync(sleeper.scan())).toHaveLength(60)
    },
  )

  test('an index is added, filled and queried, a cleaner runs, and every index is complete', async () => {
    await store.addIndex(byGroup)
    await using cleaner = startCleaner(store, { onError: (error) => errors.push(error) })
    const errors: unknown[] = []
    await expect.poll(() => cleaner.status().shards.every(({ isMine }) => isMine)).toBe(true)
    expect(cleaner.status().shards).toHaveLength(2)
    expect(await cleanIndex(store)).toMatchObject({ complete: true })
    const found = await store.query(byGroup, { group: 'group 1' }, { limit: 100 })
    expect(found.items).toHaveLength(20)
    for (const { name } of [...indexes, byGroup])
      expect(await checkIndex(store, name)).toMatchObject({ missing: 0, dangling: 0, misplaced: 0 })
    await cleaner.stop()
    expect(errors).toEqual([])
  })

  test('a cursor from before the removal goes on, and new followers get every entity once', async () => {
    const { id } = await store.put(bagOf(100))
    expect(await take(store, cursor, 1)).toMatchObject([{ id }])
    const all = await take(sleeper, 'beginning', 61)
    expect(new Set(all.map((change) => change.id))).toEqual(new Set([...ids, id]))
    const [again] = await take(store, all.at(-2)!.cursor, 1)
    expect(again?.id).toBe(all.at(-1)!.id)
  })

  test('a process that starts finds everything, and lists the shard as removed', async () => {
    const shards = sqliteShards({ folder, shards: removed === 0 ? 3 : 1 })
    const started = await open(folder, { shards })
    expect(await started.getMany([...ids])).toHaveLength(60)
    expect((await started.getMany([...ids])).every((entity) => entity !== undefined)).toBe(true)
    expect((await started.shards.list()).map(({ state }) => state)[removed]).toBe('removed')
    await started.close()
  })

  test('a removal that died at any step is finished by the next one, and the store works in between', async () => {
    for (let step = 1, isDone = false; !isDone; step++) {
      const copy = mkdtempSync(join(tmpdir(), 'looseleaf-died-'))
      cpSync(drained, copy, { recursive: true })
      let left = Infinity
      let isDead = false
      const shards = through(sqliteShards({ folder: copy, shards: 3, durability: 'normal' }), (driver) => {
        const dying = faultyDriver(driver, ({ operation }) =>
          WRITES.has(operation) && --left === 0 ? { crash: 'after' } : undefined,
        )
        void dying.crashed.then(() => (isDead = true))
        return dying
      })
      const dies = await open(copy, { shards, random: oneOwner })
      left = step
      void dies.shards.remove(removed).then(() => (isDone = true))
      await expect.poll(() => isDead || isDone, { interval: 5 }).toBe(true)
      const next = await open(copy, { random: oneOwner })
      const { id } = await next.put(bagOf(70))
      expect((await next.query(byRank, {}, { scatter: true, limit: 100 })).items).toHaveLength(61)
      await next.shards.remove(removed)
      deleteShard(copy, removed)
      await next.addIndex(byGroup)
      const cleaning = await open(copy)
      await cleanIndex(cleaning)
      expect(await cleaning.get(id)).toBeDefined()
      expect(await checkIndex(cleaning, 'by_group')).toMatchObject({ missing: 0, dangling: 0 })
      await Promise.all([next.close(), cleaning.close()])
      rmSync(copy, { recursive: true })
    }
  }, 60_000)

  test('two removals at once both resolve', async () => {
    const copy = mkdtempSync(join(tmpdir(), 'looseleaf-two-'))
    cpSync(drained, copy, { recursive: true })
    const [one, two] = await Promise.all([open(copy), open(copy)])
    await Promise.all([one.shards.remove(removed), two.shards.remove(removed)])
    expect((await two.shards.list()).filter(({ state }) => state === 'removed')).toHaveLength(1)
    await Promise.all([one.close(), two.close()])
    rmSync(copy, { recursive: true })
  })

  test('a follower that was behind when the shard was emptied is CHANGES_GONE', async () => {
    const { storeId, layout } = store.context.catalog.current()
    const { away } = layout!.shards[removed]!
    const [first] = await take(store, 'beginning', 1)
    expect(away!.every(({ emptied }) => emptied !== undefined)).toBe(true)
    // A place before the last write on the removed shard, by a follower that began before.
    const numbers = JSON.parse(Buffer.from(first!.cursor, 'base64url').toString()) as number[]
    expect(numbers[1]).toBe(storeId)
    numbers.splice(2 + 3 * removed, 3, away![0]!.end - 1, 1, 1)
    const behind = Buffer.from(JSON.stringify(numbers)).toString('base64url')
    await expect(take(store, behind, 100)).rejects.toMatchObject({ code: 'CHANGES_GONE' })
    await expect(take(sleeper, behind, 100)).rejects.toMatchObject({ code: 'CHANGES_GONE' })
  })

  test('the database is refused when it is given again, and joins anew once it is empty', async () => {
    const file = `shard-${removed}.sqlite`
    cpSync(join(drained, file), join(folder, file))
    expect((await Array.fromAsync(sleeper.scan())).length).toBe(60)
    const started = await open(folder)
    expect((await started.shards.list()).map(({ state }) => state)[removed]).toBe('removed')
    await expect(started.shards.add(file)).rejects.toMatchObject({
      code: 'LAYOUT_MISMATCH',
      message: expect.stringMatching(
        /it was shard \d of this store, and was removed.* drop its tables first/,
      ),
    })
    await started.close()
    deleteShard(folder, removed)
    const again = await open(folder)
    expect(await again.shards.add(file)).toMatchObject({ number: 3, added: true })
    const { buckets } = again.context.catalog.current().layout!.shards[2]!
    await moveBuckets(again, { from: 2, to: 3, buckets: buckets! })
    expect((await store.getMany([...ids])).every((entity) => entity !== undefined)).toBe(true)
    expect((await again.shards.list()).map(({ state }) => state)).toHaveLength(4)
    await again.close()
  }, 20_000)

  test('the removal may be repeated, and buckets move between the others', async () => {
    await store.shards.remove(removed)
    await store.shards.remove(removed)
    const [from, to] = [0, 1, 2].filter((number) => number !== removed) as [number, number]
    const buckets = store.context.catalog.current().layout!.shards[from]!.buckets!
    await moveBuckets(store, { from, to, buckets })
    expect((await store.getMany([...ids])).every((entity) => entity !== undefined)).toBe(true)
    await expect(moveBuckets(store, { from: to, to: removed, buckets })).rejects.toMatchObject({
      code: 'BAD_OPTION',
    })
    await store.shards.remove(from)
    expect((await sleeper.getMany([...ids])).every((entity) => entity !== undefined)).toBe(true)
    await expect(store.shards.remove(to)).rejects.toMatchObject({ code: 'CONFLICT' })
  })
})

describe('a removal', () => {
  let memory: Driver
  let store: DataStore
  let plan: FaultPlan

  beforeEach(async () => {
    memory = await memoryShards(3).connect()
    plan = () => undefined
    store = await openOn(
      faultyDriver(memory, (call) => plan(call)),
      { migrate: true, queryTimeMs: 500 },
    )
    await store.putMany(Array.from({ length: 40 }, (_, n) => bagOf(n)))
  })
  afterEach(async () => {
    await store.close()
    await memory.close()
  })

  const openOn = (driver: Driver, options: Partial<DataStoreOptions> = {}): Promise<DataStore> =>
    DataStore.open({ shards: keepOpen(driver), indexes, time: leapingTime(), ...options })

  const stateOf = async (number: number): Promise<string> => (await store.shards.list())[number]!.state

  test.each([0, 1])(
    'of shard %i: no call fails of a process that slept through it and the moves',
    async (number) => {
      let isDown = false
      const sent: string[] = []
      let last = 100
      const open = (): Promise<DataStore> =>
        openOn(
          faultyDriver(memory, ({ shard, table, operation }) => {
            if (!isDown || shard !== number) return undefined
            sent.push(`${table} ${operation}`)
            return { before: () => Promise.reject(unavailable(number)) }
          }),
        )
      const calls: ((sleeper: DataStore) => Promise<unknown>)[] = [
        async (sleeper) => expect(await sleeper.getMany([...ids])).not.toContain(undefined),
        (sleeper) => Promise.all(ids.map((id) => sleeper.exists(id))),
        (sleeper) => sleeper.putMany(Array.from({ length: 30 }, () => bagOf(++last))),
        (sleeper) => Promise.all(ids.map((id) => sleeper.update(id, (bag) => ({ ...bag, group: 'new' })))),
        async (sleeper) => expect(await byUser.getAll(sleeper, { user: 'user 1' })).not.toHaveLength(0),
        async (sleeper) => expect((await take(sleeper, 'beginning', 40)).length).toBe(40),
        (sleeper) => Array.fromAsync(sleeper.scan()),
        (sleeper) => cleanIndex(sleeper),
      ]
      const ids = (await Array.fromAsync(store.scan())).map(({ id }) => id)
      const sleepers = await Promise.all(calls.map(open))
      await drain(store, number)
      await store.shards.remove(number)
      isDown = true
      for (const [place, call] of calls.entries()) {
        const sleeper = sleepers[place]!
        await call(sleeper)
        sent.length = 0
        for (const other of calls.slice(0, 5)) await other(sleeper)
        expect([place, ...sent]).toEqual([place])
      }
      await Promise.all(sleepers.map((sleeper) => sleeper.close()))
    },
  )

  test.each([
    [7, 'BAD_OPTION', /no shard 7/],
    [-1, 'BAD_OPTION', /number of a shard/],
    ['1', 'BAD_OPTION', /number of a shard/],
  ])('of the shard %j is refused', async (number, code, message) => {
    await expect(store.shards.remove(number as number)).rejects.toMatchObject({
      code,
      message: expect.stringMatching(message),
    })
  })

  test('names everything for which the shard is still needed, and changes nothing', async () => {
    const before = await memory.shards[0]!.catalog.load()
    await expect(store.shards.remove(1)).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringMatching(
        /^Shard 1, memory 1, .*: it has \d+ buckets, .*; it serves \d+ buckets; its table of entities is not empty\.$/,
      ),
    })
    expect(await memory.shards[0]!.catalog.load()).toEqual(before)
  })

  test('waits for the end of moves from and to the shard', async () => {
    const stopped = new AbortController()
    const { layout } = store.context.catalog.current()
    const move = moveBuckets(
      store,
      { from: 0, to: 1, buckets: layout!.shards[0]!.buckets! },
      { signal: stopped.signal, onProgress: () => stopped.abort() },
    )
    await expect(move).rejects.toMatchObject({ code: 'ABORTED' })
    for (const number of [0, 1])
      await expect(store.shards.remove(number)).rejects.toMatchObject({
        code: 'CONFLICT',
        message: expect.stringMatching(/move \d+ is not over/),
      })
  })

  test('of the leading shard waits for fillings', async () => {
    await drain(store, 0)
    await store.addIndex(byGroup)
    const error = { code: 'CONFLICT', message: expect.stringMatching(/index by_group is being filled/) }
    await expect(store.shards.remove(0)).rejects.toMatchObject(error)
    await cleanIndex(store)
    await store.shards.remove(0)
    expect(await stateOf(0)).toBe('removed')
  })

  test('is refused while a consumer has records on the shard alone', async () => {
    await drain(store, 1)
    const consumer = consume(store, 'search', () => {}, { from: 'beginning' })
    await expect.poll(() => readConsumers(store)).toHaveLength(1)
    const { tasks } = memory.shards[1]!
    await tasks.claim('consume/search/3/dead', 'test', 1_000)
    await tasks.save('consume/search/3/dead', 'test', '{"letters":[{}]}', 0)
    await expect(store.shards.remove(1)).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringMatching(/consumer search has 1 dead letter there, which/),
    })
    await consumer.stop()
    await dropConsumer(store, 'search')
    await store.shards.remove(1)
  })
})
