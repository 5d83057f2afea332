import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isLooseleafError, LooseleafError, type ErrorCode, type IndexTableSpec } from '@looseleaf/core'
import { sqliteShards } from '@looseleaf/driver-sqlite'
import { changeCatalog, defineIndex, tableSpec } from '@looseleaf/index-engine'
import { faultyDriver } from '@looseleaf/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { DataStore } from '../data-store.ts'
import { replaceLostIndexes } from './replace-lost-indexes.ts'

const byUser = defineIndex('by_user', { properties: { user_id: 'uuid' }, shardOn: 'user_id' })
const byLink = defineIndex('by_link', { properties: { link: 'string' }, shardOn: 'link' })
const byLinkAndTime = defineIndex('by_link', {
  properties: { link: 'string', time: 'time' },
  shardOn: 'link',
})

const withCode = (code: ErrorCode): { asymmetricMatch(error: unknown): boolean } => ({
  asymmetricMatch: (error) => isLooseleafError(error, code),
})

let folder: string
const opened: DataStore[] = []

/** Another store on the same files stands for another process: it has a catalog, lanes and connections of its own. */
async function open(
  options: { migrate?: boolean; indexes?: (typeof byUser | typeof byLink)[] } = {},
): Promise<DataStore> {
  const store = await DataStore.open({ shards: sqliteShards({ folder, shards: 2 }), ...options })
  opened.push(store)
  return store
}

/** Makes an index ready, as the cleaner does when it has been filled. */
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
  it('refuses shards without tables, and says what to do', async () => {
    await expect(open()).rejects.toEqual(withCode('NOT_MIGRATED'))
    await expect(open()).rejects.toThrow(/migrate: true/)
  })

  it('makes the indexes of a new store ready at once', async () => {
    const store = await open({ migrate: true, indexes: [byUser] })
    expect(await store.indexes()).toMatchObject([
      { name: 'by_user', generation: 1, state: 'ready', table: 'index_by_user' },
    ])
  })

  it('takes two definitions under one name for two generations', async () => {
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

  it('adds an index that a store in use does not have as building', async () => {
    await (await open({ migrate: true, indexes: [byUser] })).close()
    const store = await open({ migrate: true, indexes: [byUser, byLink] })
    expect(await store.indexes()).toMatchObject([
      { name: 'by_user', state: 'ready' },
      { name: 'by_link', state: 'building' },
    ])
    await expect(store.query(byLink, { link: 'x' })).rejects.toEqual(withCode('INDEX_NOT_READY'))
  })

  it('says which indexes can be queried, without a question to a database', async () => {
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

  it('lets several processes migrate at the same time', async () => {
    const stores = await Promise.all(
      Array.from({ length: 4 }, () => open({ migrate: true, indexes: [byUser, byLink] })),
    )
    const ids = new Set(await Promise.all(stores.map(async (store) => (await store.status()).storeId)))
    expect(ids.size).toBe(1)
    expect(await stores[0]?.indexes()).toHaveLength(2)
  })

  it('refuses shards in another order', async () => {
    await (await open({ migrate: true })).close()
    const { rename } = await import('node:fs/promises')
    await rename(join(folder, 'shard-0.sqlite'), join(folder, 'x'))
    await rename(join(folder, 'shard-1.sqlite'), join(folder, 'shard-0.sqlite'))
    await rename(join(folder, 'x'), join(folder, 'shard-1.sqlite'))
    await expect(open()).rejects.toEqual(withCode('LAYOUT_MISMATCH'))
  })

  it('refuses a router that routes otherwise than the data was written', async () => {
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
  it('makes a process that does not know it write it all the same', async () => {
    const writer = await open({ migrate: true, indexes: [byUser] })
    await writer.put({ link: 'before', user_id: writer.newId() })
    const admin = await open()
    await admin.addIndex(byLink)
    // The writer has not looked at the catalog since; its epoch is behind, so its next commit is refused and tried again.
    const { id } = await writer.put({ link: 'after', user_id: writer.newId() })
    await makeReady(admin, 'by_link')
    expect((await admin.getAll(byLink, { link: 'after' })).map((entity) => entity.id)).toEqual([id])
    expect((await writer.getAll(byLink, { link: 'after' })).map((entity) => entity.id)).toEqual([id])
  })

  it('is no change when the store has the same definition', async () => {
    const store = await open({ migrate: true, indexes: [byUser] })
    const before = (await store.status()).shards[0]?.epoch
    await store.addIndex(byUser)
    expect((await store.status()).shards[0]?.epoch).toBe(before)
    expect(await store.indexes()).toHaveLength(1)
  })

  it('takes a change of onMisfit for what it is', async () => {
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

  it('adds a changed definition as a generation of its own, and keeps the old one in use', async () => {
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

  it('lets many processes add at the same time without losing one', async () => {
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

  it('is finished by the next process when it died between two shards', async () => {
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
  it('ends queries, in other processes too, and lets their writes go on', async () => {
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

  it('goes on writing it while a process that does not know that may still query it', async () => {
    const reader = await open({ migrate: true, indexes: [byLink] })
    const writer = await open()
    await writer.put({ link: 'x' })
    let looks = 0
    const look = async (): Promise<void> => {
      // The writer knows the state `retiring` before it begins, and the reader has not heard of it.
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

  it('and adding it again is noticed by a process that only reads', async () => {
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

  it('makes the cursors of its pages void, and no page is taken for the end', async () => {
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

  it('drops the one generation that is named by its definition', async () => {
    const store = await open({ migrate: true, indexes: [byLink] })
    await store.addIndex(byLinkAndTime)
    await store.dropIndex(byLink)
    expect(await store.indexes()).toMatchObject([{ generation: 2 }])
  })

  it('is not misled by tables that an attempt with another definition has left behind', async () => {
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

  it('never uses a table name again', async () => {
    const store = await open({ migrate: true, indexes: [byLink] })
    await store.dropIndex('by_link')
    await store.addIndex(byLink)
    expect(await store.indexes()).toMatchObject([{ generation: 2, table: 'index_by_link_2' }])
  })
})

describe('a user without the right to', () => {
  /** The same files, by a user to whom shard 1 refuses what begins like this. */
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

  it('drop tables drops no index, which stays as it is', async () => {
    const store = await open({ migrate: true, indexes: [byLink] })
    await store.put({ link: 'x' })
    const before = store.context.catalog.current()
    await expect((await limited('drop')).dropIndex('by_link')).rejects.toMatchObject(lacking('DROP'))
    expect(await store.context.catalog.reload()).toEqual(before)
    expect(await store.getAll(byLink, { link: 'x' })).toHaveLength(1)
    expect(await store.dropIndex('by_link')).toBe(true)
  })

  it('create tables adds no index, and takes no name', async () => {
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

  it('create tables adds an index whose tables were made by hand', async () => {
    const store = await open({ migrate: true, indexes: [byUser] })
    for (const shard of store.context.driver.shards)
      await shard.createIndexTable(tableSpec({ ...byLink, table: 'index_by_link' }))
    await (await limited('create')).addIndex(byLink)
    expect(await store.indexes()).toMatchObject([{}, { table: 'index_by_link', state: 'building' }])
  })

  it.each(['drop', 'create'])('%s tables begins no index anew that has lost a table', async (operation) => {
    const store = await open({ migrate: true, indexes: [byLink] })
    await store.context.driver.shards[0]!.dropIndexTable(tableSpec({ ...byLink, table: 'index_by_link' }))
    const before = store.context.catalog.current()
    const user = await limited(operation)
    await expect(replaceLostIndexes(user.context)).rejects.toMatchObject(lacking(operation.toUpperCase()))
    expect(await store.context.catalog.reload()).toEqual(before)
    await replaceLostIndexes(store.context)
    expect(await store.indexes()).toMatchObject([{ generation: 2, state: 'building' }])
  })
})

describe('an index that the store does not have', () => {
  it('is told by name, with those that there are', async () => {
    const store = await open({ migrate: true, indexes: [byUser] })
    await expect(store.query(byLink, { link: 'x' })).rejects.toThrow(/no index by_link.*by_user/)
    await expect(store.query(byLink, { link: 'x' })).rejects.toEqual(withCode('INDEX_NOT_FOUND'))
  })

  it('is told apart from one with another definition', async () => {
    const store = await open({ migrate: true, indexes: [byLink] })
    await expect(store.query(byLinkAndTime, { link: 'x' })).rejects.toThrow(/another definition/)
  })
})
