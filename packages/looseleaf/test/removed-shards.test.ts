import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemRandomness } from '@looseleaf/core/internal'
import { moveBuckets } from '@looseleaf/mover/internal'
import { faultyDriver } from '@looseleaf/testkit'
import { through } from '@looseleaf-tooling/kit/changed-driver'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  checkIndex,
  cleanIndex,
  DataStore,
  sqliteShards,
  startCleaner,
  type DataStoreOptions,
  type EntityId,
} from '../src/index.ts'
import { bagOf, byGroup, byRank, byUser, indexes, take } from './removals.ts'

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
    await made.shards.drain(removed)
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

  test('skipping reads of a process that slept soon do without the removed shard', async () => {
    const read = () => sleeper.getMany(ids, { onUnavailable: 'skip' })
    // The first one may leave out the shard whose file is gone. Then the process finds out that it was removed.
    let found = await read()
    while (!found.complete) found = await read()
    expect(found.items.every((item) => item !== undefined)).toBe(true)
  })

  test('all calls of a process that slept through a removal go on', async () => {
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

  const firstCalls = {
    query: async () => (await sleeper.query(byRank, {}, { scatter: true, limit: 100 })).items.length,
    async addIndex() {
      await sleeper.addIndex(byGroup)
      return (await sleeper.indexes()).filter(({ name }) => name === byGroup.name).length
    },
    changes: async () => (await take(sleeper, 'beginning', 60)).length,
    scan: async () => (await Array.fromAsync(sleeper.scan())).length,
  }

  test.each(['query', 'addIndex', 'changes', 'scan'] as const)(
    'a first %s of a process that slept through a removal succeeds',
    async (call) => {
      expect(await firstCalls[call]()).toBe(call === 'addIndex' ? 1 : 60)
    },
  )

  test('after a removal an index is added and filled, a cleaner runs, and every index is complete', async () => {
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

  test('a process that starts after a removal finds every entity, and lists the shard as removed', async () => {
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

  test('a follower that was behind when a removed shard was emptied gets CHANGES_GONE', async () => {
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

  test('the database of a removed shard is refused as a shard, and joins anew once it is empty', async () => {
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
    const last = await open(folder)
    expect(await last.getMany([...ids])).not.toContain(undefined)
    await last.close()
  }, 20_000)

  test('a removal may be repeated, and buckets move between the other shards', async () => {
    await store.shards.remove(removed)
    await store.shards.remove(removed, { dryRun: true })
    const [from, to] = [0, 1, 2].filter((number) => number !== removed) as [number, number]
    const buckets = store.context.catalog.current().layout!.shards[from]!.buckets!
    await moveBuckets(store, { from, to, buckets })
    expect((await store.getMany([...ids])).every((entity) => entity !== undefined)).toBe(true)
    const impossible = [
      { from: to, to: removed, buckets },
      { from: removed, to, buckets },
    ]
    for (const plan of impossible)
      for (const call of [store.shards.plan, store.shards.move, moveBuckets.bind(undefined, store)])
        await expect(call(plan)).rejects.toMatchObject({
          code: 'BAD_OPTION',
          message: expect.stringContaining('that were not removed'),
        })
    await store.shards.remove(from)
    expect((await sleeper.getMany([...ids])).every((entity) => entity !== undefined)).toBe(true)
    await expect(store.shards.remove(to)).rejects.toMatchObject({ code: 'CONFLICT' })
  })
})
