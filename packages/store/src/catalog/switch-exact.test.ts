import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Driver, Time } from '@looseleaf/core'
import type { ShardCatalog } from '@looseleaf/core/internal'
import { memoryShards, sqliteShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { changeCatalogContents, keptRowsMs } from '@looseleaf/index-engine/internal'
import { faultyDriver, keepOpen } from '@looseleaf/testkit'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { DataStore } from '../data-store.ts'
import { NOTICE_MS } from './catalog-watch.ts'

const byOwn = defineIndex('by_own', { properties: { n: 'integer' }, shardOn: 'id' })
const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name' })
const byTenant = defineIndex('by_tenant', {
  properties: { tenant: 'string' },
  shardOn: 'tenant',
  near: true,
})
const unique = defineIndex('unique_name', { properties: { name: 'string' }, shardOn: 'name', unique: true })
const indexes = [byOwn, byName, byTenant, unique]

let folder: string
let driver: Driver
let opened: DataStore[]
let slept: number[]
/** Runs within each sleep of a store. */
let whileAsleep: (() => Promise<void>) | undefined

const time: Time = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  async sleep(ms) {
    slept.push(ms)
    await whileAsleep?.()
  },
}

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'looseleaf-exact-'))
  opened = []
  slept = []
  whileAsleep = undefined
})
afterEach(async () => {
  for (const store of opened) await store.close()
  await driver.close()
  await rm(folder, { recursive: true })
})

async function open(options: object = {}, shards: Driver = driver): Promise<DataStore> {
  const store = await DataStore.open({
    shards: keepOpen(shards),
    time,
    onWarning: () => undefined,
    ...options,
  })
  opened.push(store)
  return store
}

async function connect(shards: number): Promise<void> {
  driver = await sqliteShards({ folder, shards, durability: 'normal' }).connect()
}

/** Makes the store as a version without exact indexes would have made it. */
async function makeOld(): Promise<DataStore> {
  const store = await open({ indexes, migrate: true })
  await changeCatalogContents(driver, ({ indexes: entries, ...contents }) => ({
    ...contents,
    exactIndexes: undefined,
    indexes: entries.map(({ exact: _, near: __, ...entry }) => entry),
  }))
  await store.context.catalog.reload()
  return store
}

const stepsOf = ({ indexes: entries }: Pick<ShardCatalog, 'indexes'>): object =>
  Object.fromEntries(entries.map(({ table, exact }) => [table, exact]))
const requiresOf = ({ requires = [] }: ShardCatalog): readonly string[] => requires.map(({ name }) => name)

async function catalogs(): Promise<readonly ShardCatalog[]> {
  return Promise.all(driver.shards.map(async ({ catalog }) => (await catalog.load())!))
}

test('a new store of one shard has every index exact, and refuses programs that do not know exact indexes', async () => {
  await connect(1)
  await open({ indexes, migrate: true })
  const [catalog] = await catalogs()
  expect(stepsOf(catalog!)).toEqual({
    index_by_own: 'on',
    index_by_name: 'on',
    index_by_tenant: 'on',
    index_unique_name: 'on',
    claims_unique_name: undefined,
  })
  expect(requiresOf(catalog!)).toContain('near-1')
})

test('a new store of several shards has the indexes exact whose rows are near', async () => {
  await connect(2)
  const store = await open({ indexes: [byOwn, byName], migrate: true })
  await store.addIndex([byTenant, unique])
  for (const catalog of await catalogs())
    expect(stepsOf(catalog)).toEqual({
      index_by_own: 'on',
      index_by_name: undefined,
      index_by_tenant: 'on',
      index_unique_name: undefined,
      claims_unique_name: undefined,
    })
  const { indexes: status } = await store.status()
  expect(status.find(({ name }) => name === 'by_own')).toMatchObject({ exact: 'on' })
})

test('a store in memory has no exact indexes, because its driver has no snapshots', async () => {
  driver = await memoryShards(1).connect()
  const store = await open({ indexes, migrate: true })
  const [catalog] = await catalogs()
  expect(new Set(Object.values(stepsOf(catalog!)))).toEqual(new Set([undefined]))
  expect(requiresOf(catalog!)).not.toContain('near-1')
  await expect(store.setExactIndexes(true)).rejects.toMatchObject({ code: 'BAD_OPTION' })
})

test('an older store stays as it is when a program opens it with migrate', async () => {
  await connect(2)
  await makeOld()
  await open({ indexes, migrate: true })
  for (const catalog of await catalogs()) {
    expect(stepsOf(catalog)).toMatchObject({ index_by_own: undefined, index_by_tenant: undefined })
    expect(requiresOf(catalog)).not.toContain('near-1')
  }
})

test('an older store refuses old programs, then protects its readers, and waits for the rest of them before it deletes at once', async () => {
  await connect(2)
  await makeOld()
  const seen: string[] = []
  let isWatching = false
  const watched = faultyDriver(driver, ({ table, operation, shard, args }) => {
    if (!isWatching || table !== 'catalog' || operation !== 'change' || shard !== 0) return undefined
    const next = args[0] as ShardCatalog
    const step = next.indexes.find((entry) => entry.table === 'index_by_own')!.exact
    seen.push(`${step} ${requiresOf(next).includes('near-1')}`)
    return undefined
  })
  const store = await open({ indexes, migrate: true }, watched)
  isWatching = true
  slept = []
  let others: readonly object[] = []
  whileAsleep = async () => void (others = (await catalogs()).map(stepsOf))
  await store.setExactIndexes(true)
  expect(seen).toEqual(['counted true', 'protected true', 'on true'])
  const protectedSteps = { index_by_own: 'protected', index_by_tenant: 'protected' }
  expect(others).toEqual([expect.objectContaining(protectedSteps), expect.objectContaining(protectedSteps)])
  expect(Math.max(...slept)).toBe(NOTICE_MS + keptRowsMs(store.context.catalog.current()))
  for (const catalog of await catalogs())
    expect(stepsOf(catalog)).toMatchObject({
      index_by_own: 'on',
      index_by_tenant: 'on',
      index_by_name: undefined,
    })
  slept = []
  await store.setExactIndexes(true)
  expect(slept).toEqual([])
})

test('a switch whose process died is continued by the next call', async () => {
  await connect(1)
  const store = await makeOld()
  whileAsleep = () => Promise.reject(new Error('The process dies.'))
  await expect(store.setExactIndexes(true)).rejects.toThrow('dies')
  expect(stepsOf((await catalogs())[0]!)).toMatchObject({ index_by_own: 'protected' })
  whileAsleep = undefined
  slept = []
  await (await open()).setExactIndexes(true)
  expect(slept).not.toEqual([])
  expect(stepsOf((await catalogs())[0]!)).toMatchObject({ index_by_own: 'on' })
})

test('a switch whose process was suspended waits again if the indexes were switched off, and on again, meanwhile', async () => {
  await connect(1)
  const store = await makeOld()
  const other = await open()
  const waitMs = NOTICE_MS + keptRowsMs(store.context.catalog.current())
  const steps: unknown[] = []
  slept = []
  whileAsleep = async () => {
    steps.push(stepsOf((await catalogs())[0]!))
    if (steps.length !== 1) return
    // The lease has ended.
    const { tasks } = driver.shards[0]!
    const { owner } = (await tasks.load('catalog'))!
    await tasks.save('catalog', owner!, '', 0)
    await other.setExactIndexes(false)
    whileAsleep = () => Promise.reject(new Error('The process dies.'))
    await expect(other.setExactIndexes(true)).rejects.toThrow('dies')
    whileAsleep = async () => void steps.push(stepsOf((await catalogs())[0]!))
  }
  await store.setExactIndexes(true)
  expect(slept).toEqual([waitMs, waitMs, waitMs])
  expect(steps).toMatchObject([{ index_by_own: 'protected' }, { index_by_own: 'protected' }])
  expect(stepsOf((await catalogs())[0]!)).toMatchObject({ index_by_own: 'on' })
})

test('other changes of the catalog do not begin the wait for readers again', async () => {
  await connect(1)
  const store = await makeOld()
  slept = []
  whileAsleep = async () => void (await changeCatalogContents(driver, (contents) => ({ ...contents })))
  await store.setExactIndexes(true)
  expect(slept).toEqual([NOTICE_MS + keptRowsMs(store.context.catalog.current())])
  expect(stepsOf((await catalogs())[0]!)).toMatchObject({ index_by_own: 'on' })
})

test('exact indexes are switched off in two steps, and old programs may then take part', async () => {
  await connect(1)
  const seen: unknown[] = []
  const watched = faultyDriver(driver, ({ table, operation, args }) => {
    const next = args[0] as ShardCatalog
    if (table === 'catalog' && operation === 'change')
      seen.push(next.indexes.find((entry) => entry.table === 'index_by_own')!.exact)
    return undefined
  })
  const store = await open({ indexes, migrate: true }, watched)
  seen.length = 0
  await store.setExactIndexes(false)
  expect(seen).toEqual(['protected', undefined])
  const [catalog] = await catalogs()
  expect(new Set(Object.values(stepsOf(catalog!)))).toEqual(new Set([undefined]))
  expect(requiresOf(catalog!)).not.toContain('near-1')
  await store.addIndex(defineIndex('by_more', { properties: { m: 'integer' }, shardOn: 'id' }))
  expect(stepsOf((await catalogs())[0]!)).toMatchObject({ index_by_more: undefined })
})

test('setExactIndexes refuses anything but true and false', async () => {
  await connect(1)
  const store = await open({ migrate: true })
  await expect(store.setExactIndexes('on' as never)).rejects.toMatchObject({ code: 'BAD_OPTION' })
})
