import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LooseleafError } from '@looseleaf/core'
import type { IndexTableSpec } from '@looseleaf/core/internal'
import { sqliteShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { changeCatalog, tableSpec } from '@looseleaf/index-engine/internal'
import { faultyDriver } from '@looseleaf/testkit'
import { withCode } from '@looseleaf-tooling/kit/errors'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { DataStore } from '../data-store.ts'
import { replaceLostIndexes } from './replace-lost-indexes.ts'

const byUser = defineIndex('by_user', { properties: { user_id: 'uuid' }, shardOn: 'user_id' })
const byLink = defineIndex('by_link', { properties: { link: 'string' }, shardOn: 'link' })
const byLinkAndTime = defineIndex('by_link', {
  properties: { link: 'string', time: 'time' },
  shardOn: 'link',
})

let folder: string
const opened: DataStore[] = []

/** Opens a store on the same files, as another process with its own catalog, lanes and connections. */
async function open(
  options: { migrate?: boolean; indexes?: (typeof byUser | typeof byLink)[] } = {},
): Promise<DataStore> {
  const store = await DataStore.open({ shards: sqliteShards({ folder, shards: 2 }), ...options })
  opened.push(store)
  return store
}

/** Makes an index ready, as the cleaner does once it is filled. */
async function makeReady(store: DataStore, name: string): Promise<void> {
  const change = await changeCatalog(store.context.driver, (indexes) =>
    indexes.map((entry) =>
      entry.name === name && entry.state === 'building' ? { ...entry, state: 'ready' } : entry,
    ),
  )
  store.context.catalog.adopt(change)
}

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'looseleaf-store-'))
})
afterEach(async () => {
  await Promise.all(opened.splice(0).map((store) => store.close()))
  await rm(folder, { recursive: true })
})

describe('opening', () => {
  it('open rejects shards without tables, and says what to do', async () => {
    await expect(open()).rejects.toEqual(withCode('NOT_MIGRATED'))
    await expect(open()).rejects.toThrow(/migrate: true/)
  })

  it('open makes the indexes of a new store ready at once', async () => {
    const store = await open({ migrate: true, indexes: [byUser] })
    expect(await store.indexes()).toMatchObject([
      { name: 'by_user', generation: 1, state: 'ready', table: 'index_by_user' },
    ])
  })

  it('open takes two definitions with one name for two generations', async () => {
    const store = await DataStore.open({
      shards: sqliteShards({ folder, shards: 2 }),
      indexes: [byLink, byLinkAndTime],
      migrate: true,
    })
    opened.push(store)
    expect(await store.indexes()).toMatchObject([
      { generation: 1, state: 'ready', table: 'index_by_link', columns: 'link string' },
      { generation: 2, state: 'building', table: 'index_by_link_2', columns: 'link string, time time' },
    ])
    await store.put({ link: 'x', time: new Date(5) })
    expect(await store.getAll(byLink, { link: 'x' })).toHaveLength(1)
  })

  it('open adds a missing index of a store in use as building', async () => {
    await (await open({ migrate: true, indexes: [byUser] })).close()
    const store = await open({ migrate: true, indexes: [byUser, byLink] })
    expect(await store.indexes()).toMatchObject([
      { name: 'by_user', state: 'ready' },
      { name: 'by_link', state: 'building' },
    ])
    await expect(store.query(byLink, { link: 'x' })).rejects.toEqual(withCode('INDEX_NOT_READY'))
  })

  it('isReady tells which indexes can be queried without asking a database', async () => {
    const store = await open({ migrate: true, indexes: [byUser] })
    const isReady = (): boolean => store.isReady(byLink)
    const seen = [isReady(), store.isReady(byUser)]
    await store.addIndex(byLink)
    seen.push(isReady())
    await makeReady(store, 'by_link')
    seen.push(isReady(), store.isReady(byLinkAndTime))
    await store.hideIndex('by_link')
    seen.push(isReady())
    await store.restoreIndex('by_link')
    seen.push(isReady())
    await store.dropIndex('by_link')
    seen.push(isReady())
    expect(seen).toEqual([false, true, false, true, false, false, true, false])
    expect(() => store.isReady({ name: 'by_link' } as typeof byLink)).toThrow(/isReady/)
  })

  it('several processes may migrate at the same time', async () => {
    const stores = await Promise.all(
      Array.from({ length: 4 }, () => open({ migrate: true, indexes: [byUser, byLink] })),
    )
    const ids = new Set(await Promise.all(stores.map(async (store) => (await store.status()).storeId)))
    expect(ids.size).toBe(1)
    expect(await stores[0]?.indexes()).toHaveLength(2)
  })

  it('a store opens after the files of its shards have exchanged their names', async () => {
    const made = await open({ migrate: true })
    const { id } = await made.put({ any: 1 })
    await made.close()
    const { rename } = await import('node:fs/promises')
    await rename(join(folder, 'shard-0.sqlite'), join(folder, 'x'))
    await rename(join(folder, 'shard-1.sqlite'), join(folder, 'shard-0.sqlite'))
    await rename(join(folder, 'x'), join(folder, 'shard-1.sqlite'))
    expect(await (await open()).get(id)).toMatchObject({ any: 1 })
  })

  it('open rejects a router that routes differently from the stored data', async () => {
    await (await open({ migrate: true })).close()
    const { moduloRouter } = await import('@looseleaf/router')
    const other = DataStore.open({
      shards: sqliteShards({ folder, shards: 2 }),
      router: moduloRouter({ shards: 2 }),
    })
    await expect(other).rejects.toEqual(withCode('LAYOUT_MISMATCH'))
  })
})

describe('adding an index', () => {
  it('a process that does not know an added index writes it', async () => {
    const writer = await open({ migrate: true, indexes: [byUser] })
    await writer.put({ link: 'before', user_id: writer.newId() })
    const admin = await open()
    await admin.addIndex(byLink)
    // The catalog of the writer is old. Its epoch is behind, so its next commit is rejected and repeated.
    const { id } = await writer.put({ link: 'after', user_id: writer.newId() })
    await makeReady(admin, 'by_link')
    expect((await admin.getAll(byLink, { link: 'after' })).map((entity) => entity.id)).toEqual([id])
    expect((await writer.getAll(byLink, { link: 'after' })).map((entity) => entity.id)).toEqual([id])
  })

  it('adding an index that the store has unchanged changes nothing', async () => {
    const store = await open({ migrate: true, indexes: [byUser] })
    const before = (await store.status()).shards[0]?.epoch
    await store.addIndex(byUser)
    expect((await store.status()).shards[0]?.epoch).toBe(before)
    expect(await store.indexes()).toHaveLength(1)
  })

  it('adding an index with another onMisfit makes no new generation', async () => {
    const store = await open({ migrate: true, indexes: [byUser] })
    await expect(store.put({ user_id: 7 })).rejects.toEqual(withCode('BAD_INDEX_VALUE'))
    const lenient = defineIndex('by_user', {
      properties: { user_id: 'uuid' },
      shardOn: 'user_id',
      onMisfit: 'skip',
    })
    await store.addIndex(lenient)
    expect(await store.indexes()).toHaveLength(1)
    const { id } = await store.put({ user_id: 7 })
    expect(await store.get(id)).toEqual({ id, user_id: 7 })
    expect(await store.getAll(byUser, { user_id: id })).toEqual([])
  })

  it('adding a changed definition makes a new generation, and the old one stays in use', async () => {
    const store = await open({ migrate: true, indexes: [byLink] })
    await store.put({ link: 'x', time: new Date(5) })
    await store.addIndex(byLinkAndTime)
    expect(await store.getAll(byLink, { link: 'x' })).toHaveLength(1)
    const { cost } = await store.query(byLinkAndTime, { link: 'x' })
    expect(cost.olderGeneration).toBe(1)
    expect(await store.indexes()).toMatchObject([
      { generation: 1, state: 'ready', table: 'index_by_link' },
      { generation: 2, state: 'building', table: 'index_by_link_2' },
    ])
  })

  it('concurrent additions of indexes by many processes lose none', async () => {
    const stores = await Promise.all(Array.from({ length: 3 }, () => open({ migrate: true })))
    const definitions = Array.from({ length: 6 }, (_, n) =>
      defineIndex(`by_p${n}`, { properties: { [`p${n}`]: 'integer' }, shardOn: 'id' }),
    )
    await Promise.all(definitions.map((definition, n) => stores[n % 3]!.addIndex(definition)))
    expect((await stores[0]!.indexes()).map(({ name }) => name).toSorted()).toEqual(
      definitions.map(({ name }) => name),
    )
    const epochs = (await stores[1]!.status()).shards.map(({ epoch }) => epoch)
    expect(new Set(epochs).size).toBe(1)
  })

  it('the next process finishes an addition that crashed between two shards', async () => {
    const store = await open({ migrate: true })
    const [first] = store.context.driver.shards
    const catalog = await first!.catalog.load()
    const entry = { ...byLink, generation: 1, table: 'index_by_link', state: 'building' as const }
    for (const shard of store.context.driver.shards) await shard.createIndexTable(tableSpec(entry))
    await first!.catalog.change({ ...catalog!, epoch: catalog!.epoch + 1, indexes: [entry] }, catalog!.epoch)
    const next = await open()
    expect(next.context.catalog.current().epochs).toEqual([catalog!.epoch + 1, catalog!.epoch + 1])
  })
})

describe('dropping an index', () => {
  it('dropping an index ends queries in other processes, and their writes continue', async () => {
    const other = await open({ migrate: true, indexes: [byUser, byLink] })
    const { id } = await other.put({ link: 'x', user_id: other.newId() })
    const admin = await open()
    expect(await admin.dropIndex('by_link')).toBe(true)
    expect(await admin.dropIndex('by_link')).toBe(false)
    await expect(other.query(byLink, { link: 'x' })).rejects.toEqual(withCode('INDEX_NOT_FOUND'))
    await other.update(id, (bag) => ({ ...bag, link: 'y' }))
    expect((await other.get(id))?.['link']).toBe('y')
    expect(await other.indexes()).toMatchObject([{ name: 'by_user' }])
  })

  it('a dropped index is written while a process with an older catalog may still query it', async () => {
    const reader = await open({ migrate: true, indexes: [byLink] })
    const writer = await open()
    await writer.put({ link: 'x' })
    let looks = 0
    const look = async (): Promise<void> => {
      // The writer knows the state `retiring`, and the reader does not.
      await writer.context.catalog.reload()
      await writer.put({ link: 'x' })
      expect(writer.context.catalog.current().indexes).toMatchObject([{ state: 'retiring' }])
      const { items, cost } = await reader.query(byLink, { link: 'x' })
      expect([items.length, cost.complete]).toEqual([2, true])
      looks++
    }
    const factory = sqliteShards({ folder, shards: 2 })
    let looked: Promise<void> | undefined
    const driver = faultyDriver(await factory.connect(), ({ operation, args }) =>
      operation === 'dropIndexTable' && (args[0] as IndexTableSpec).table === 'index_by_link'
        ? { before: () => (looked ??= look()) }
        : undefined,
    )
    const admin = await DataStore.open({ shards: { ...factory, connect: async () => driver } })
    opened.push(admin)
    await admin.dropIndex('by_link')
    expect(looks).toBe(1)
  })

  it('a process that only reads notices that an index was dropped and added again', async () => {
    const reader = await open({ migrate: true, indexes: [byLink] })
    const { id } = await reader.put({ link: 'x' })
    expect(await reader.count(byLink, { link: 'x' })).toBe(1)
    const admin = await open()
    await admin.dropIndex(byLink)
    await admin.addIndex(byLink)
    await expect(reader.query(byLink, { link: 'x' })).rejects.toEqual(withCode('INDEX_NOT_READY'))
    await admin.update(id, (bag) => ({ ...bag, link: 'y' }))
    await makeReady(admin, 'by_link')
    expect(await reader.count(byLink, { link: 'y' })).toBe(1)
    expect((await reader.getAll(byLink, { link: 'y' })).map((entity) => entity.id)).toEqual([id])
  })

  it('dropping and adding an index makes its cursors BAD_CURSOR', async () => {
    const store = await open({ migrate: true, indexes: [byLink] })
    for (let i = 0; i < 5; i++) await store.put({ link: 'x' })
    const { cursor } = await store.query(byLink, { link: 'x' }, { limit: 2 })
    const admin = await open()
    await admin.dropIndex(byLink)
    await admin.addIndex(byLink)
    const next = (): Promise<unknown> => store.query(byLink, { link: 'x' }, { limit: 2, cursor: cursor! })
    await expect(next()).rejects.toEqual(withCode('INDEX_NOT_READY'))
    await makeReady(admin, 'by_link')
    await expect(next()).rejects.toEqual(withCode('BAD_CURSOR'))
  })

  it('dropping an index by its definition drops one generation', async () => {
    const store = await open({ migrate: true, indexes: [byLink] })
    await store.addIndex(byLinkAndTime)
    await store.dropIndex(byLink)
    expect(await store.indexes()).toMatchObject([{ generation: 2 }])
  })

  it('tables left by a failed addition do not affect a later definition with the same name', async () => {
    const asInteger = defineIndex('by_score', { properties: { score: 'integer' }, shardOn: 'id' })
    const asNumber = defineIndex('by_score', { properties: { score: 'number' }, shardOn: 'id' })
    const store = await open({ migrate: true })
    const factory = sqliteShards({ folder, shards: 2 })
    const driver = faultyDriver(await factory.connect(), ({ shard, operation }) =>
      shard === 1 && operation === 'createIndexTable'
        ? { before: () => Promise.reject(new LooseleafError('SHARD_UNAVAILABLE', 'The disk is full.')) }
        : undefined,
    )
    const failing = await DataStore.open({ shards: { ...factory, connect: async () => driver } })
    opened.push(failing)
    await expect(failing.addIndex(asInteger)).rejects.toThrow('The disk is full.')
    await store.addIndex(asNumber)
    await makeReady(store, 'by_score')
    const scores = Array.from({ length: 20 }, (_, i) => i + 0.4)
    await store.putMany(scores.map((score) => ({ score })))
    const found = await store.getAll(asNumber, {}, { scatter: true })
    expect(found.map(({ score }) => score)).toEqual(scores)
  })

  it('a table name of a dropped index is never used again', async () => {
    const store = await open({ migrate: true, indexes: [byLink] })
    await store.dropIndex('by_link')
    await store.addIndex(byLink)
    expect(await store.indexes()).toMatchObject([{ generation: 2, table: 'index_by_link_2' }])
  })
})

describe('a user without rights on tables', () => {
  /** Opens the same files as a user to whom shard 1 denies operations that begin like this. */
  async function limited(operation: string): Promise<DataStore> {
    const factory = sqliteShards({ folder, shards: 2 })
    const driver = faultyDriver(await factory.connect(), (call) =>
      call.shard === 1 && call.operation.startsWith(operation)
        ? { before: () => Promise.reject(new LooseleafError('SHARD_DENIED', 'The user lacks a privilege.')) }
        : undefined,
    )
    const store = await DataStore.open({ shards: { ...factory, connect: async () => driver } })
    opened.push(store)
    return store
  }

  const lacking = (right: string): object => ({
    code: 'SHARD_DENIED',
    retryable: false,
    message: expect.stringMatching(
      new RegExp(`right to ${right.toLowerCase()} tables \\(${right} .*Nothing was changed`),
    ),
  })

  it('a user without the right to drop tables drops no index', async () => {
    const store = await open({ migrate: true, indexes: [byLink] })
    await store.put({ link: 'x' })
    const before = store.context.catalog.current()
    await expect((await limited('drop')).dropIndex('by_link')).rejects.toMatchObject(lacking('DROP'))
    expect(await store.context.catalog.reload()).toEqual(before)
    expect(await store.getAll(byLink, { link: 'x' })).toHaveLength(1)
    expect(await store.dropIndex('by_link')).toBe(true)
  })

  it('a user without the right to create tables adds no index, and reserves no name', async () => {
    const store = await open({ migrate: true, indexes: [byUser] })
    const before = store.context.catalog.current()
    await expect((await limited('create')).addIndex(byLink)).rejects.toMatchObject(lacking('CREATE'))
    expect(await store.context.catalog.reload()).toEqual(before)
    await store.addIndex(byLink)
    expect(await store.indexes()).toMatchObject([
      { name: 'by_user' },
      { generation: 1, table: 'index_by_link' },
    ])
  })

  it('a user without the right to create tables adds an index whose tables were made by hand', async () => {
    const store = await open({ migrate: true, indexes: [byUser] })
    for (const shard of store.context.driver.shards)
      await shard.createIndexTable(tableSpec({ ...byLink, table: 'index_by_link' }))
    await (await limited('create')).addIndex(byLink)
    expect(await store.indexes()).toMatchObject([{}, { table: 'index_by_link', state: 'building' }])
  })

  it.each(['drop', 'create'])(
    'a user without the right to %s tables replaces no index with a missing table',
    async (operation) => {
      const store = await open({ migrate: true, indexes: [byLink] })
      await store.context.driver.shards[0]!.dropIndexTable(tableSpec({ ...byLink, table: 'index_by_link' }))
      const before = store.context.catalog.current()
      const user = await limited(operation)
      await expect(replaceLostIndexes(user.context)).rejects.toMatchObject(lacking(operation.toUpperCase()))
      expect(await store.context.catalog.reload()).toEqual(before)
      await replaceLostIndexes(store.context)
      expect(await store.indexes()).toMatchObject([{ generation: 2, state: 'building' }])
    },
  )
})

describe('an index that the store does not have', () => {
  it('a query of an unknown index names it and the existing ones', async () => {
    const store = await open({ migrate: true, indexes: [byUser] })
    await expect(store.query(byLink, { link: 'x' })).rejects.toThrow(/no index by_link.*by_user/)
    await expect(store.query(byLink, { link: 'x' })).rejects.toEqual(withCode('INDEX_NOT_FOUND'))
  })

  it('a query of an index with another definition says so', async () => {
    const store = await open({ migrate: true, indexes: [byLink] })
    await expect(store.query(byLinkAndTime, { link: 'x' })).rejects.toThrow(/another definition/)
  })
})
