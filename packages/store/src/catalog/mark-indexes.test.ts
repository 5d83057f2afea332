import type { DriverFactory } from '@looseleaf/core'
import { defineIndex } from '@looseleaf/index-engine'
import { createReferenceDriver, type ReferenceDriver } from '@looseleaf-tooling/kit/reference-driver'
import { beforeEach, describe, expect, it } from 'vitest'
import { DataStore } from '../data-store.ts'

const byLink = defineIndex('by_link', { properties: { link: 'string' }, shardOn: 'link' })
const byLinkAndTime = defineIndex('by_link', {
  properties: { link: 'string', time: 'time' },
  shardOn: 'link',
})
const byRank = defineIndex('by_rank', { properties: { rank: 'integer' }, shardOn: 'rank', unique: true })

type Definition = typeof byLink | typeof byRank

let driver: ReferenceDriver
beforeEach(() => {
  driver = createReferenceDriver({ shards: 2 })
})

/** Opens a store as another process, whose catalog is as old as its last read. */
function open(
  indexes: Definition[] = [],
  { migrate = true, onWarning }: { migrate?: boolean; onWarning?: (text: string) => void } = {},
): Promise<DataStore> {
  const shards: DriverFactory = { shardCount: 2, connect: async () => driver }
  return DataStore.open({ shards, indexes, migrate, ...(onWarning && { onWarning }) })
}

const entries = (): readonly object[] => driver.shards[0]!.contents()!.indexes
const found = async (store: DataStore, link: string): Promise<(string | undefined)[]> =>
  (await store.getAll(byLink, { link })).map((entity) => entity.id)

describe('a hidden index', () => {
  it('queries of a hidden index reject with the command that restores it', async () => {
    const store = await open([byLink])
    const stale = await open()
    const { id } = await store.put({ link: 'a' })
    expect(await store.hideIndex('by_link')).toBe(true)
    expect(await store.indexes()).toMatchObject([{ name: 'by_link', state: 'ready', hidden: true }])
    await expect(store.query(byLink, { link: 'a' })).rejects.toMatchObject({
      code: 'INDEX_NOT_READY',
      message: expect.stringMatching(/hidden.*looseleaf index restore by_link --generation 1/),
    })
    await expect(store.count(byLink, { link: 'a' })).rejects.toMatchObject({ code: 'INDEX_NOT_READY' })
    // A process with an older catalog may query the index, which is whole.
    expect(await found(stale, 'a')).toEqual([id])
  })

  it('a hidden index is written by all processes, and whole when it is restored', async () => {
    const store = await open([byLink])
    const [stale, hider] = [await open(), await open()]
    const before = await store.put({ link: 'a' })
    await stale.put({ link: 'a' }, { id: before.id })
    await hider.hideIndex(byLink)
    const during = [await stale.put({ link: 'a' }), await hider.put({ link: 'a' })].map(({ id }) => id)
    await stale.put({ link: 'b' }, { id: before.id })
    await hider.delete(during[1]!)
    expect(await hider.restoreIndex(byLink)).toBe(true)
    for (const process of [store, stale, hider]) {
      expect(await found(process, 'a')).toEqual([during[0]])
      expect(await found(process, 'b')).toEqual([before.id])
    }
    expect(entries()).toEqual([expect.not.objectContaining({ hidden: true })])
  })

  it('a hidden unique index still rejects taken keys', async () => {
    const store = await open([byRank])
    await store.put({ rank: 1 })
    await store.hideIndex('by_rank')
    await expect(store.put({ rank: 1 })).rejects.toMatchObject({ code: 'DUPLICATE_KEY' })
  })

  it('adding a hidden index, or opening with it and migrate, shows it again', async () => {
    const store = await open([byLink])
    const { id } = await store.put({ link: 'a' })
    await store.hideIndex('by_link')
    await store.addIndex(byLink)
    expect(await found(store, 'a')).toEqual([id])
    await store.hideIndex('by_link')
    expect(await found(await open([byLink]), 'a')).toEqual([id])
    expect(entries()).toMatchObject([{ generation: 1, state: 'ready' }])
  })

  it('open warns of a hidden index of the program', async () => {
    const store = await open([byLink, byRank])
    await store.hideIndex('by_link')
    const warnings: string[] = []
    await open([byLink, byRank], { migrate: false, onWarning: (text) => warnings.push(text) })
    expect(warnings).toEqual([expect.stringMatching(/^Index by_link is hidden/)])
  })

  it('hideIndex selects one generation by definition and all by name, and returns false if there is none', async () => {
    const store = await open([byLink])
    await store.addIndex(byLinkAndTime)
    expect(await store.hideIndex(byLink)).toBe(true)
    expect(entries()).toMatchObject([{ hidden: true }, { generation: 2, state: 'building' }])
    expect(entries()[1]).not.toHaveProperty('hidden')
    expect(await store.hideIndex('by_link')).toBe(true)
    expect(entries()).toMatchObject([{ hidden: true }, { hidden: true }])
    expect(await store.hideIndex('by_rank')).toBe(false)
    await expect(store.hideIndex({} as never)).rejects.toMatchObject({ code: 'BAD_INDEX' })
    await expect(store.hideIndex('by_link', { sginal: 1 } as never)).rejects.toMatchObject({
      code: 'BAD_OPTION',
    })
  })

  it('a call for something that is no index names all ways to name one', async () => {
    const store = await open([byLink])
    await expect(store.hideIndex(5 as never)).rejects.toMatchObject({
      code: 'BAD_INDEX',
      message:
        'hideIndex takes the name of an index, { name, generation }, or an index as defineIndex gives it; got a number.',
    })
  })

  it('hiding a hidden index changes no epoch', async () => {
    const store = await open([byLink])
    await store.hideIndex('by_link')
    const { epochs } = store.context.catalog.current()
    await store.hideIndex('by_link')
    expect(store.context.catalog.current().epochs).toEqual(epochs)
  })

  it('a hidden index that was dropped cannot be restored', async () => {
    const store = await open([byLink])
    await store.hideIndex('by_link')
    expect(await store.dropIndex('by_link')).toBe(true)
    expect(await store.restoreIndex('by_link')).toBe(false)
    await expect(found(store, 'a')).rejects.toMatchObject({ code: 'INDEX_NOT_FOUND' })
  })

  it('a hidden index with a missing table is replaced only if a program has it', async () => {
    const store = await open([byLink, byRank])
    await store.hideIndex('by_link')
    await driver.shards[1]!.dropIndexTable({ table: 'index_by_link', columns: [] })
    await open([byRank])
    expect((await store.indexes()).map(({ table }) => table)).toEqual(['index_by_rank', 'claims_by_rank'])
    await open([byLink, byRank])
    expect(await store.indexes()).toContainEqual(expect.objectContaining({ table: 'index_by_link_2' }))
  })
})

describe('a paused filling', () => {
  it('a paused filling shows in the index and in errors of queries until resumeIndex', async () => {
    const store = await open([])
    await store.put({ link: 'a' })
    await store.addIndex(byLink)
    expect(await store.pauseIndex('by_link')).toBe(true)
    expect(await store.indexes()).toMatchObject([{ state: 'building', paused: true }])
    await expect(found(store, 'a')).rejects.toMatchObject({
      code: 'INDEX_NOT_READY',
      message: expect.stringMatching(/paused.*looseleaf index resume by_link/),
    })
    expect(await store.resumeIndex(byLink)).toBe(true)
    expect(entries()).toEqual([expect.not.objectContaining({ paused: true })])
  })

  it('pauseIndex returns false for a ready index', async () => {
    const store = await open([byLink])
    expect(await store.pauseIndex('by_link')).toBe(false)
    expect(entries()).toEqual([expect.not.objectContaining({ paused: true })])
  })
})

describe('several indexes', () => {
  it('addIndex adds a list of indexes in one change, and repeated ones once', async () => {
    const store = await open([])
    const changes: number[] = []
    const original = driver.shards[0]!.catalog.change
    driver.shards[0]!.catalog.change = (catalog, ...rest) => {
      changes.push(catalog.indexes.filter(({ state }) => state === 'building').length)
      return original(catalog, ...rest)
    }
    await store.addIndex([byLink, byRank, byLink])
    // The first change reserves the names.
    expect(changes).toEqual([0, 3])
    expect((await store.indexes()).map(({ table }) => table)).toEqual([
      'index_by_link',
      'index_by_rank',
      'claims_by_rank',
    ])
  })

  it('addIndex adds nothing if one of the values is no definition', async () => {
    const store = await open([])
    await expect(store.addIndex([byLink, {} as never])).rejects.toMatchObject({ code: 'BAD_INDEX' })
    expect(await store.indexes()).toEqual([])
  })
})
