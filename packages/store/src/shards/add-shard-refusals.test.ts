import { LooseleafError, type Driver, type Shard } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { changeCatalogContents, loadShardCatalog } from '@looseleaf/index-engine/internal'
import { moduloRouter } from '@looseleaf/router'
import { faultyDriver, keepOpen } from '@looseleaf/testkit'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { DataStore } from '../data-store.ts'

let memory: Driver
let spare: Shard
let driver: Driver
let stores: DataStore[]

beforeEach(async () => {
  // The last database is no shard of the store, and its address leads to it.
  memory = await memoryShards(3).connect()
  const { shards } = memory
  spare = shards[2]!
  driver = {
    ...memory,
    shards: shards.slice(0, 2),
    shardAt: (address) => shards.find(({ name }) => name === address) ?? spare,
  }
  stores = []
})
afterEach(async () => {
  for (const store of stores) await store.close()
  await memory.close()
})

async function open(
  given: Driver = driver,
  options: Partial<Parameters<typeof DataStore.open>[0]> = {},
): Promise<DataStore> {
  const store = await DataStore.open({ shards: keepOpen(given), migrate: true, ...options })
  stores.push(store)
  return store
}

test.each([undefined, null, 7, true])('the address %j is refused', async (address) => {
  const store = await open()
  await expect(store.shards.add(address as never)).rejects.toMatchObject({
    code: 'BAD_OPTION',
    message: expect.stringContaining('shards.add takes the address, the URL or the options of a shard; got'),
  })
})

test('options of a shard are an address, and a driver that makes no shards takes none', async () => {
  expect(await (await open()).shards.add({ some: 'options' }, { dryRun: true })).toMatchObject({ number: 2 })
  const { shardAt: _, ...others } = driver
  const fixed = await open(others)
  await expect(fixed.shards.add('memory 2')).rejects.toMatchObject({
    code: 'BAD_OPTION',
    message: 'The driver of this store knows only the shards that it was given.',
  })
})

test('a dry run tells the number of a database, and warnings of a member only', async () => {
  const warned = {
    ...driver,
    shardAt: () => ({ ...spare, warnings: async () => ['Commits are not flushed.'] }),
  }
  const store = await open(warned)
  const dry = { number: 2, address: 'memory 2', added: false }
  expect(await store.shards.add('memory 2', { dryRun: true })).toEqual({ ...dry, warnings: [] })
  expect(await loadShardCatalog(spare)).toBeUndefined()
  const warnings = ['Commits are not flushed.']
  expect(await store.shards.add('memory 2')).toEqual({ ...dry, added: true, warnings })
  // One change for the state of joining, and one for its end.
  expect((await store.context.catalog.reload()).layout).toMatchObject({ revision: 2 })
  expect(await store.shards.add('memory 2', { dryRun: true })).toEqual({ ...dry, warnings })
  expect(await store.shards.add('memory 2')).toEqual({ ...dry, warnings })
})

test('a database of another store cannot join', async () => {
  const store = await open()
  const { shardAt: _, ...others } = memory
  await open({ ...others, shards: [spare] })
  await expect(store.shards.add('memory 2')).rejects.toMatchObject({
    code: 'LAYOUT_MISMATCH',
    message: expect.stringMatching(/^Shard memory 2: it belongs to another store/),
  })
  expect(await store.shards.add('memory 1')).toMatchObject({ number: 1, added: false })
})

test('a database of entities that has lost its catalog cannot join', async () => {
  const { shardAt: _, ...others } = memory
  await (await open({ ...others, shards: [spare] })).put({ n: 1 })
  const catalog = { ...spare.catalog, load: () => Promise.resolve(undefined) }
  const store = await open({ ...driver, shardAt: () => ({ ...spare, catalog }) })
  await expect(store.shards.add('memory 2')).rejects.toMatchObject({
    code: 'LAYOUT_MISMATCH',
    message: expect.stringMatching(/^Shard memory 2: it has no catalog, but holds entities\./),
  })
})

test('a shard cannot join under a second address', async () => {
  const second = { ...memory.shards[1]!, name: 'memory 1 again' }
  const store = await open({ ...driver, shardAt: () => second })
  await expect(store.shards.add('memory 1 again')).rejects.toMatchObject({
    code: 'LAYOUT_MISMATCH',
    message: expect.stringMatching(
      /^Shard memory 1 again: it is shard 1 of this store under the address memory 1\./,
    ),
  })
})

test('an empty database at the address of a shard cannot join', async () => {
  const store = await open({ ...driver, shardAt: () => ({ ...spare, name: 'memory 1' }) })
  await expect(store.shards.add('memory 1')).rejects.toMatchObject({
    code: 'LAYOUT_MISMATCH',
    message: expect.stringMatching(
      /^Shard memory 1: by the layout it is shard 1 of the store, but its database has another catalog or none\./,
    ),
  })
})

test('another shard of the store at the address of a shard cannot join', async () => {
  const store = await open({ ...driver, shardAt: () => ({ ...memory.shards[0]!, name: 'memory 1' }) })
  await expect(store.shards.add('memory 1')).rejects.toMatchObject({ code: 'LAYOUT_MISMATCH' })
})

test('a store whose catalog has no layout takes no shard', async () => {
  const store = await open()
  await changeCatalogContents(driver, (contents) => ({ ...contents, layout: undefined }))
  await expect(store.shards.add('memory 2')).rejects.toMatchObject({ code: 'NOT_MIGRATED' })
  expect(await loadShardCatalog(spare)).toBeUndefined()
})

test('a removed shard cannot join again', async () => {
  const store = await open()
  await store.shards.add('memory 2')
  await changeCatalogContents({ ...memory }, ({ layout, ...contents }) => ({
    ...contents,
    layout: {
      ...layout!,
      revision: layout!.revision + 1,
      shards: layout!.shards.with(2, { name: 'elsewhere', buckets: '', state: 'removed' }),
      moves: [],
    },
  }))
  await expect(store.shards.add('memory 2')).rejects.toMatchObject({
    code: 'LAYOUT_MISMATCH',
    message: expect.stringMatching(/it was shard 2 of this store, and was removed\..* drop its tables first/),
  })
})

test('an empty database at the address of a removed shard joins under another number', async () => {
  const store = await open()
  await changeCatalogContents(driver, ({ layout, ...contents }) => {
    const shards = [...layout!.shards, { name: 'memory 2', buckets: '', state: 'removed' as const }]
    return { ...contents, layout: { ...layout!, revision: layout!.revision + 1, shards } }
  })
  expect(await store.shards.add('memory 2')).toMatchObject({ number: 3, added: true })
})

test('a store without buckets has no place for another shard', async () => {
  const store = await open(driver, { router: moduloRouter({ shards: 2 }) })
  await expect(store.shards.add('memory 2')).rejects.toMatchObject({
    code: 'LAYOUT_MISMATCH',
    message: expect.stringMatching(/has no buckets, so its shards are fixed\./),
  })
})

test('a shard that does not answer ends an add with its error', async () => {
  const down = new LooseleafError('SHARD_UNAVAILABLE', 'It is down.')
  let isDown = false
  const store = await open(
    faultyDriver(driver, ({ shard }) =>
      isDown && shard === 1 ? { before: () => Promise.reject(down) } : undefined,
    ),
  )
  isDown = true
  await expect(store.shards.add('memory 2')).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE' })
  expect(await loadShardCatalog(spare)).toBeUndefined()
  isDown = false
})
