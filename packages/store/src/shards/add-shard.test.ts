import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DriverFactory } from '@looseleaf/core'
import { sqliteShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { changeCatalogContents, tableSpec } from '@looseleaf/index-engine/internal'
import { bucketRouter, moduloRouter } from '@looseleaf/router'
import { faultyDriver, type FaultPlan } from '@looseleaf/testkit'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { DataStore } from '../data-store.ts'
import type { EntityChange } from '../reading/changes/changes.ts'

const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name' })
const byRank = defineIndex('by_rank', { properties: { rank: 'integer' }, shardOn: 'rank' })
const ADDED = 'shard-2.sqlite'

let folder: string
const open: DataStore[] = []

async function openStore(
  given: Partial<Parameters<typeof DataStore.open>[0]> & { readonly count?: number } = {},
): Promise<DataStore> {
  const { count = 2, ...options } = given
  const shards = sqliteShards({ folder, shards: count, durability: 'normal' })
  const store = await DataStore.open({ shards, indexes: [byName], ...options })
  open.push(store)
  return store
}

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'looseleaf-add-shard-'))
  await openStore({ migrate: true })
})

afterEach(async () => {
  for (const store of open.splice(0)) await store.close()
  await rm(folder, { recursive: true })
})

/** Returns a driver whose calls have these faults. */
function faulty(plan: FaultPlan): DriverFactory {
  const shards = sqliteShards({ folder, shards: 2, durability: 'normal' })
  return {
    shardCount: 2,
    connect: async (options) => faultyDriver(await shards.connect(options), plan),
  }
}

it('an added shard serves, owns no bucket, and has the tables of all indexes', async () => {
  const [store] = open
  expect(await store!.shards.add(ADDED)).toEqual({
    number: 2,
    address: ADDED,
    added: true,
    warnings: [expect.stringMatching(/durability/)],
  })
  expect(await store!.shards.list()).toMatchObject([
    { number: 0, address: 'shard-0.sqlite', state: 'serving', buckets: 2048, error: undefined },
    { number: 1, address: 'shard-1.sqlite', state: 'serving', buckets: 2048, error: undefined },
    { number: 2, address: ADDED, state: 'serving', buckets: 0, error: undefined },
  ])
  const { driver, catalog } = store!.context
  const [entry] = catalog.current().indexes
  expect(await driver.shards[2]!.index(tableSpec(entry!)).count({ prefix: [] })).toBe(0)
  expect((await driver.shards[2]!.catalog.load())!.serves).toEqual({ owns: '' })
})

it('an added shard has the codec entries of all shards', async () => {
  const { driver } = open[0]!.context
  await changeCatalogContents(driver, (contents) => ({ ...contents, definitions: true }))
  const entries = ['one', 'two'].map((id) => ({ id, kind: 'shape', bytes: Buffer.from(id) }))
  for (const [number, entry] of entries.entries()) await driver.shards[number]!.codecEntries.add([entry])
  await open[0]!.shards.add(ADDED)
  const copied = await driver.shards[2]!.codecEntries.all()
  expect(copied.map(({ id }) => id).toSorted()).toEqual(['one', 'two'])
})

it('an older process writes, queries and scatters without an error while a shard joins, and learns of it', async () => {
  const [store] = open
  const older = await openStore()
  const errors: unknown[] = []
  let isDone = false
  let rank = 0
  const work = async (): Promise<void> => {
    while (!isDone) {
      try {
        const { id } = await older.put({ name: 'one', rank: rank++ })
        await older.get(id)
        await older.query(byName, { name: 'one' }, { limit: 2 })
        await older.query(byName, {}, { limit: 2, scatter: true })
      } catch (error) {
        errors.push(error)
      }
    }
  }
  const working = Promise.all([work(), work()])
  await store!.shards.add(ADDED)
  await expect.poll(() => older.context.driver.shards.length).toBe(3)
  await expect.poll(() => rank, { timeout: 10_000 }).toBeGreaterThan(20)
  isDone = true
  await working
  expect(errors).toEqual([])
  expect(await older.count(byName, { name: 'one' })).toBe(rank)
  expect(older.stats().shards).toHaveLength(3)
})

it('changes go on after a shard has joined, and their older cursors begin at its beginning', async () => {
  const [store] = open
  const older = await openStore()
  const aborter = new AbortController()
  const seen: EntityChange[] = []
  const reading = (async () => {
    for await (const change of older.changes({ from: 'beginning', pollMs: 10, signal: aborter.signal }))
      seen.push(change)
  })()
  await store!.put({ name: 'before' })
  await expect.poll(() => seen.length).toBe(1)
  await store!.shards.add(ADDED)
  await older.put({ name: 'after' })
  await expect.poll(() => seen.length, { timeout: 5_000 }).toBe(2)
  aborter.abort()
  await reading
  const { cursor } = seen[0]!
  for await (const { entity } of older.changes({ from: cursor, pollMs: 10 })) {
    expect(entity).toMatchObject({ name: 'after' })
    break
  }
})

it('a process that is given one shard connects to the others by the layout', async () => {
  const [store] = open
  await store!.shards.add(ADDED)
  const { id } = await store!.put({ name: 'one' })
  const partial = await openStore({ count: 1 })
  expect(partial.context.driver.shards.map(({ name }) => name)).toEqual([
    'shard-0.sqlite',
    'shard-1.sqlite',
    ADDED,
  ])
  expect(await partial.get(id)).toMatchObject({ name: 'one' })
  const ids = await Promise.all(Array.from({ length: 20 }, () => partial.put({ name: 'many' })))
  expect(await store!.count(byName, { name: 'many' })).toBe(ids.length)
})

it('a process whose router has the number of shards before a join opens the store, and so does one with one shard', async () => {
  const [store] = open
  await store!.shards.add(ADDED)
  const router = bucketRouter({ shards: 2 })
  const { id } = await (await openStore({ router, count: 3 })).put({ name: 'one' })
  expect(await (await openStore({ router, count: 1 })).get(id)).toMatchObject({ name: 'one' })
})

it('a process that is given one shard warns of each shard once', async () => {
  const [store] = open
  await store!.shards.add(ADDED)
  const warnings: string[] = []
  const partial = await openStore({ count: 1, onWarning: (warning) => warnings.push(warning) })
  await partial.query(byName, {}, { scatter: true })
  expect(warnings).toHaveLength(3)
})

it('a process warns of a shard that joins later once', async () => {
  const [store] = open
  const warnings: string[] = []
  const older = await openStore({ onWarning: (warning) => warnings.push(warning) })
  await store!.shards.add(ADDED)
  await older.put({ name: 'one' })
  await older.query(byName, {}, { scatter: true })
  await expect.poll(() => warnings.length).toBe(3)
})

it('an address in a missing folder is refused, by a dry run too, and names the folder as the cause', async () => {
  const [store] = open
  for (const dryRun of [true, false])
    await expect(store!.shards.add('none/shard-2.sqlite', { dryRun })).rejects.toMatchObject({
      code: 'SHARD_UNAVAILABLE',
      message: expect.stringContaining(
        `the file ${join(folder, 'none/shard-2.sqlite')} cannot be created. Its folder`,
      ),
    })
  expect(await store!.shards.list()).toHaveLength(2)
})

it('an index that is added after a shard has joined has its table there', async () => {
  const [store] = open
  const older = await openStore()
  await store!.shards.add(ADDED)
  await older.addIndex(byRank)
  const entry = older.context.catalog.current().indexes.find(({ name }) => name === 'by_rank')
  expect(await older.context.driver.shards[2]!.index(tableSpec(entry!)).count({ prefix: [] })).toBe(0)
})

it.each(['createTables', 'createIndexTable', 'init', 'change'])(
  'an add that fails after %s does no harm, and the next one finishes the shard',
  async (operation) => {
    let isArmed = true
    const failing = await openStore({
      shards: faulty((call) =>
        isArmed && call.operation === operation
          ? { after: () => Promise.reject(new Error('The process has stopped.')) }
          : undefined,
      ),
    })
    await expect(failing.shards.add(ADDED)).rejects.toThrow('The process has stopped.')
    isArmed = false
    const [store] = open
    const { id } = await store!.put({ name: 'one' })
    expect(await store!.get(id)).toMatchObject({ name: 'one' })
    await store!.shards.add(ADDED)
    expect((await store!.shards.list())[2]).toMatchObject({ address: ADDED, state: 'serving' })
  },
)

it('a repair finishes a shard whose process has stopped while it joined', async () => {
  let isArmed = true
  const failing = await openStore({
    shards: faulty(({ operation }) =>
      isArmed && operation === 'change'
        ? { after: () => Promise.reject(new Error('The process has stopped.')) }
        : undefined,
    ),
  })
  await expect(failing.shards.add(ADDED)).rejects.toThrow('The process has stopped.')
  isArmed = false
  const [store] = open
  expect((await store!.shards.list())[2]).toMatchObject({ address: ADDED, state: 'joining' })
  await expect(store!.shards.move({ from: 0, to: 2, buckets: '0' })).rejects.toMatchObject({
    code: 'BAD_OPTION',
    message: expect.stringMatching(/shard 2 is joining the store/),
  })
  expect(await store!.shards.repair()).toMatchObject({ catalogs: [1, 2], joined: [2], problems: [] })
  expect((await store!.shards.list())[2]).toMatchObject({ state: 'serving' })
})

it('a move of an older process knows a shard that has joined since', async () => {
  const [store] = open
  const older = await openStore()
  await store!.shards.add(ADDED)
  await expect(older.shards.move({ from: 0, to: 2, buckets: '4095' })).rejects.toMatchObject({
    code: 'BAD_OPTION',
    message: expect.stringMatching(/shard 0 does not have 1 of these buckets/),
  })
})

it('an add is repeated without a change, and a dry run makes no file', async () => {
  const [store] = open
  expect(await store!.shards.add(ADDED, { dryRun: true })).toEqual({
    number: 2,
    address: ADDED,
    added: false,
    warnings: [],
  })
  expect(await readdir(folder)).not.toContain(ADDED)
  await store!.shards.add(ADDED)
  expect(await store!.shards.add(ADDED)).toMatchObject({ number: 2, added: false })
  expect(await store!.shards.list()).toHaveLength(3)
})

/** Adds `ADDED`, and then undoes that on the other shards, as a crash does before their commits are on disk. */
async function addAndUndo(store: DataStore): Promise<void> {
  const shards = [...store.context.driver.shards]
  const before = await Promise.all(shards.map(({ catalog }) => catalog.load()))
  await store.shards.add(ADDED)
  for (const [number, { catalog }] of shards.entries())
    await catalog.change(before[number]!, (await catalog.load())!.epoch)
}

it('a process that has seen an undone joining never uses that database as the shard that got its number', async () => {
  const [store] = open
  await addAndUndo(store!)
  expect(await (await openStore()).shards.add('shard-3.sqlite')).toMatchObject({ number: 2, added: true })
  expect((await store!.context.catalog.reload()).silent).toHaveLength(1)
  const unusable = {
    code: 'SHARD_UNAVAILABLE',
    message: expect.stringMatching(/^Shard 2 of the store is shard-3\.sqlite, .* as shard-2\.sqlite/),
  }
  expect((await store!.shards.list())[2]).toMatchObject({ address: 'shard-3.sqlite', error: unusable })
  await expect(store!.query(byName, {}, { scatter: true })).rejects.toMatchObject(unusable)
  const { id } = await store!.put({ name: 'one' })
  expect(await (await openStore()).get(id)).toMatchObject({ name: 'one' })
})

it.each(['an undone joining', 'a joining that was never announced'])(
  'a database of %s is refused in the list of a store whose shard has its number, and may join under another',
  async (joining) => {
    const [store] = open
    if (joining === 'an undone joining') await addAndUndo(store!)
    else {
      const failing = await openStore({
        shards: faulty(({ operation }) =>
          operation === 'init'
            ? { after: () => Promise.reject(new Error('The process has stopped.')) }
            : undefined,
        ),
      })
      await expect(failing.shards.add(ADDED)).rejects.toThrow('The process has stopped.')
    }
    const other = await openStore()
    await other.shards.add('shard-3.sqlite')
    await expect(openStore({ count: 3 })).rejects.toMatchObject({
      code: 'LAYOUT_MISMATCH',
      message: expect.stringMatching(/^Shard shard-2\.sqlite: .* shard 2 .* shard-3\.sqlite/),
    })
    expect(await other.shards.add(ADDED, { dryRun: true })).toMatchObject({ number: 3, added: false })
    expect(await other.shards.add(ADDED)).toMatchObject({ number: 3, added: true })
    await (await openStore({ count: 4 })).put({ name: 'one' })
  },
)

it('a database that several calls add at the same time is reported as added by one of them', async () => {
  const [store] = open
  const other = await openStore()
  const added = await Promise.all([store!, store!, other].map(({ shards }) => shards.add(ADDED)))
  expect(added).toMatchObject(added.map(() => ({ number: 2, address: ADDED })))
  expect(added.filter((each) => each.added)).toHaveLength(1)
  expect(await store!.shards.list()).toHaveLength(3)
})

it('two processes that add two databases at the same time get two shards', async () => {
  const [store] = open
  const other = await openStore()
  const added = await Promise.all([store!.shards.add(ADDED), other.shards.add('shard-3.sqlite')])
  expect(added.map(({ number }) => number).toSorted()).toEqual([2, 3])
  expect(new Set((await store!.shards.list()).map(({ address }) => address)).size).toBe(4)
})

it('a database of another store, a shard under a second address and a store without buckets are refused', async () => {
  const [store] = open
  const other = await mkdtemp(join(tmpdir(), 'looseleaf-add-shard-'))
  const file = join(other, 'shard-0.sqlite')
  const mod = await DataStore.open({
    shards: sqliteShards({ folder: other }),
    router: moduloRouter({ shards: 1 }),
    migrate: true,
  })
  await expect(store!.shards.add(file)).rejects.toMatchObject({
    code: 'LAYOUT_MISMATCH',
    message: expect.stringMatching(/another store/),
  })
  await expect(mod.shards.add('more.sqlite')).rejects.toMatchObject({
    code: 'LAYOUT_MISMATCH',
    message: expect.stringMatching(/no buckets/),
  })
  await mod.close()
  await rm(other, { recursive: true })
  expect(await store!.shards.list()).toHaveLength(2)
  await store!.put({ name: 'one' })
})

it('calls on other shards go on while a joined shard is missing, and a scatter names it', async () => {
  const [store] = open
  await store!.shards.add(ADDED)
  for (const each of open.splice(0)) await each.close()
  for (const end of ['', '-wal', '-shm']) await rm(join(folder, `${ADDED}${end}`), { force: true })
  const partial = await openStore()
  await partial.put({ name: 'one' })
  expect(await partial.query(byName, { name: 'one' })).toMatchObject({ items: [{ name: 'one' }] })
  await expect(partial.query(byName, {}, { scatter: true })).rejects.toMatchObject({
    code: 'SHARD_UNAVAILABLE',
    shard: ADDED,
    message: expect.stringMatching(/^Shard 2 of the store, shard-2\.sqlite, cannot be used by this process/),
  })
  expect((await partial.shards.list())[2]).toMatchObject({ error: { code: 'SHARD_UNAVAILABLE' } })
})
