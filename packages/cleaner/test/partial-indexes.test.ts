import { defineIndex } from '@looseleaf/index-engine'
import type { DataStore } from '@looseleaf/store'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { checkIndex } from '../src/check/check-index.ts'
import { cleanIndex } from '../src/clean/clean-index.ts'
import { sweep } from '../src/sweep/sweep.ts'
import { addRow, openStore, rowFor, rowsIn } from './stores.ts'

/* Partial indexes: entities with other values have neither rows nor misfits in them. */

const pages = { properties: { name: 'string' }, shardOn: 'name', on: { kind: 'page' } } as const
const byName = defineIndex('by_name', { ...pages, unique: true })
const listed = defineIndex('listed', { ...pages, include: ['title'] })

let store: DataStore

beforeEach(async () => {
  store = await openStore({ indexes: [] })
  await store.put({ kind: 'page', name: 'ada' })
  await store.put({ kind: 'note', name: 'ada' })
  await store.put({ kind: 'note', name: 5 })
  await store.put({ name: ['ada'] })
})
afterEach(() => store.close())

it('a filling of a partial index writes only the rows and claims of its entities, and counts no misfits of others', async () => {
  await store.addIndex(byName)
  const { indexes } = await cleanIndex(store, byName.name)
  expect(indexes).toMatchObject([
    { state: 'ready', entities: 4, added: 1, misfits: 0, duplicates: 0 },
    { state: 'ready', unique: true, added: 1, misfits: 0, duplicates: 0 },
  ])
  expect(await rowsIn(store, byName.name)).toHaveLength(1)
  expect(await checkIndex(store, byName.name)).toMatchObject({ rows: 1, missing: 0, dangling: 0, misfits: 0 })
  await expect(store.put({ kind: 'page', name: 'ada' })).rejects.toMatchObject({ code: 'DUPLICATE_KEY' })
})

it('a row of an entity outside the partial index is found and deleted', async () => {
  await store.addIndex(listed)
  await cleanIndex(store, listed.name)
  const { id, version } = await store.put({ kind: 'note', name: 'bob' })
  await addRow(store, listed.name, rowFor(store, listed.name, id, { kind: 'page', name: 'bob' }, version))
  expect(await checkIndex(store, listed.name)).toMatchObject({ rows: 2, missing: 0, dangling: 1 })
  expect(await sweep(store)).toMatchObject({ added: 0, removed: 1 })
  expect(await checkIndex(store, listed.name)).toMatchObject({ rows: 1, dangling: 0 })
})
