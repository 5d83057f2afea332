import type { Driver, EntityId } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { changeCatalog, tableSpec } from '@looseleaf/index-engine/internal'
import { keepOpen } from '@looseleaf/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { DataStore } from '../../data-store.ts'

/* Partial indexes: many kinds of entities in one store, each with its own indexes. */

const issues = defineIndex('issue_by_assignee', {
  on: { kind: 'issue' },
  properties: { assignee: 'string', due: { type: 'time', nulls: 'last' } },
  shardOn: 'assignee',
  include: ['title'],
})
const notes = defineIndex('note_by_assignee', {
  on: { kind: 'note', 'state.open': true },
  properties: { assignee: 'integer' },
  shardOn: 'id',
})
const slugs = defineIndex('page_by_slug', {
  on: { kind: 'page' },
  properties: { slug: 'string' },
  shardOn: 'slug',
  unique: true,
})

let memory: Driver
let store: DataStore

beforeEach(async () => {
  memory = await memoryShards(2).connect()
  store = await open()
})
afterEach(async () => {
  await store.close()
  await memory.close()
})

function open(migrate = true): Promise<DataStore> {
  return DataStore.open({ shards: keepOpen(memory), indexes: [issues, notes, slugs], migrate })
}

/** Counts the rows of an index over all shards. */
async function rowsIn(name: string): Promise<number> {
  const { indexes } = store.context.catalog.current()
  const entry = indexes.find((own) => own.name === name && !own.unique)!
  const counts = await Promise.all(
    memory.shards.map((shard) => shard.index(tableSpec(entry)).count({ prefix: [] })),
  )
  return counts.reduce((sum, count) => sum + count, 0)
}

const titles = async (): Promise<unknown[]> =>
  (await store.query(issues, { assignee: 'ada' })).items.map(({ title }) => title)

describe('a partial index', () => {
  it('a partial index has the entities with its values, and no others', async () => {
    await store.put({ kind: 'issue', assignee: 'ada', title: 'one' })
    await store.put({ kind: 'note', assignee: 'ada', title: 'two' })
    await store.put({ assignee: 'ada', title: 'three' })
    expect(await titles()).toEqual(['one'])
    expect(await store.count(issues, { assignee: 'ada' }, { exact: true })).toBe(1)
    expect(await rowsIn(issues.name)).toBe(1)
  })

  it('a partial index rejects misfits only of its own entities', async () => {
    const put = (kind: string, isOpen: boolean): Promise<unknown> =>
      store.put({ kind, assignee: 'ada', state: { open: isOpen } })
    await expect(put('note', true)).rejects.toMatchObject({ code: 'BAD_INDEX_VALUE' })
    await put('note', false)
    await put('issue', true)
    await store.put({ kind: 'note', assignee: 5, state: { open: true } })
    expect((await store.query(notes, { assignee: 5 }, { scatter: true })).items).toHaveLength(1)
  })

  it('a partial index gains an entity that gets its values, and loses one that no longer has them', async () => {
    const { id } = await store.put({ kind: 'draft', assignee: 'ada', title: 'one' })
    expect(await titles()).toEqual([])
    await store.update(id, (bag) => ({ ...bag, kind: 'issue' }))
    expect(await titles()).toEqual(['one'])
    await store.update(id, (bag) => ({ ...bag, kind: 'draft' }))
    expect(await titles()).toEqual([])
    await store.settled()
    expect(await rowsIn(issues.name)).toBe(0)
  })

  it('a superfluous row of a partial index returns no entity', async () => {
    const { id } = await store.put({ kind: 'issue', assignee: 'ada', title: 'one' })
    const { router } = store.context
    const entry = store.context.catalog.current().indexes.find(({ name }) => name === issues.name)!
    const table = memory.shards[router.shardOfKey(Buffer.from('ada'))]!.index(tableSpec(entry))
    const rows = await table.scan({ prefix: [], order: 'asc', limit: 9, included: true })
    await store.put({ kind: 'note', assignee: 5, title: 'two' }, { id })
    await table.upsert(rows)
    const where = { assignee: 'ada' }
    const found = [
      (await store.query(issues, where)).items,
      (await store.list(issues, where)).items,
      (await store.intersect([{ index: issues, where }])).items,
      await store.getAll(issues, where),
    ]
    expect(found).toEqual([[], [], [], []])
    expect((await store.explain(issues, where)).estimatedRows).toBe(1)
  })

  it('a list of a partial index has the values of its `on`, from rows alone', async () => {
    const due = new Date(5)
    const { id } = await store.put({ kind: 'issue', assignee: 'ada', title: 'one', due, text: 'long' })
    const { items, cost } = await store.list(issues, { assignee: 'ada' })
    expect(items).toEqual([{ id, kind: 'issue', assignee: 'ada', title: 'one', due }])
    expect(cost.entitiesCovered).toBe(1)
  })

  it('a partial unique index is unique among its own entities', async () => {
    const put = (kind: string, id?: EntityId): Promise<{ id: EntityId }> =>
      store.put({ kind, slug: 'home' }, id === undefined ? {} : { id })
    const draft = await put('draft')
    await put('draft')
    const page = await put('page')
    await expect(put('page')).rejects.toMatchObject({ code: 'DUPLICATE_KEY', holder: page.id })
    await expect(put('page', draft.id)).rejects.toMatchObject({ code: 'DUPLICATE_KEY', holder: page.id })
    // An entity that is no page any more has lost its key.
    await put('draft', page.id)
    await put('page', draft.id)
    await expect(put('page', page.id)).rejects.toMatchObject({ code: 'DUPLICATE_KEY', holder: draft.id })
  })
})

describe('a definition with another on', () => {
  const anywhere = defineIndex('page_by_slug', {
    properties: { slug: 'string' },
    shardOn: 'slug',
    unique: true,
  })

  it('a definition with another `on` is another index with its own claims', async () => {
    await expect(store.query(anywhere, { slug: 'home' })).rejects.toMatchObject({ code: 'INDEX_NOT_FOUND' })
    await store.addIndex(anywhere)
    const adopted = await changeCatalog(store.context.driver, (indexes) =>
      indexes.map((entry) => (entry.state === 'building' ? { ...entry, state: 'ready' } : entry)),
    )
    store.context.catalog.adopt(adopted)
    const tables = (await store.indexes()).filter(({ name }) => name === 'page_by_slug')
    expect(tables.map(({ table, on }) => [table, on])).toEqual([
      ['index_page_by_slug', { kind: 'page' }],
      ['claims_page_by_slug', { kind: 'page' }],
      ['index_page_by_slug_2', undefined],
      ['claims_page_by_slug_2', undefined],
    ])
    const { id } = await store.put({ kind: 'draft', slug: 'home' })
    await expect(store.put({ kind: 'page', slug: 'home' })).rejects.toMatchObject({ code: 'DUPLICATE_KEY' })
    expect((await store.query(anywhere, { slug: 'home' })).items).toMatchObject([{ id }])
    expect((await store.query(slugs, { slug: 'home' })).items).toEqual([])
    await store.dropIndex(anywhere)
    await store.put({ kind: 'page', slug: 'home' })
    await expect(store.put({ kind: 'page', slug: 'home' })).rejects.toMatchObject({ code: 'DUPLICATE_KEY' })
  })

  it('opening a store again changes no partial index', async () => {
    const before = await store.indexes()
    const again = await open()
    expect(await again.indexes()).toEqual(before)
    await again.close()
  })
})

it('a store with a partial index requires processes to know partial indexes', async () => {
  const requires = async (): Promise<unknown> => (await memory.shards[1]!.catalog.load())?.requires
  expect(await requires()).toContainEqual({ name: 'partial', since: '0.1.0' })
  for (const index of [issues, notes, slugs]) await store.dropIndex(index)
  expect(await requires()).toBeUndefined()
})
