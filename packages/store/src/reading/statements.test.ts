import type { EntityId } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { DataStore } from '../data-store.ts'

const byUser = defineIndex('by_user', {
  properties: { user: 'string', n: 'number' },
  shardOn: 'user',
  include: ['title'],
})
const byTag = defineIndex('by_tag', { properties: { tags: 'string[]' }, shardOn: 'id' })

let store: DataStore
let ids: EntityId[]

beforeAll(async () => {
  store = await DataStore.open({ shards: memoryShards(1), indexes: [byUser, byTag], migrate: true })
  const bags = Array.from({ length: 60 }, (_, n) => ({
    user: `u${n % 2}`,
    n,
    title: `title ${n}`,
    tags: ['a', 'b'],
  }))
  ids = (await store.putMany(bags)).map(({ id }) => id)
  // Looks at the catalog, which is current for the following calls.
  await store.query(byUser, { user: 'u0' })
})
afterAll(() => store.close())

/** The tables that each call reads, in order, with one statement each. More statements would make every call slower. */
test.each<[string, (one: EntityId) => Promise<unknown>, readonly string[]]>([
  ['get', (one) => store.get(one), ['entities']],
  ['getMany', () => store.getMany(ids), ['entities']],
  ['exists', (one) => store.exists(one), ['entities']],
  ['query', () => store.query(byUser, { user: 'u0' }, { limit: 5 }), ['index_by_user']],
  [
    'queryMany',
    () => store.queryMany(byUser, [{ user: 'u0' }, { user: 'u1' }], { limit: 5 }),
    ['index_by_user'],
  ],
  [
    'queryMany with counts',
    () => store.queryMany(byUser, [{ user: 'u0' }, { user: 'u1' }], { limit: 5, count: true }),
    ['index_by_user', 'index_by_user'],
  ],
  ['queryIds', () => store.queryIds(byUser, { user: 'u0' }), ['index_by_user']],
  [
    'intersect',
    () =>
      store.intersect(
        [
          { index: byTag, where: { tags: 'a' } },
          { index: byTag, where: { tags: 'b' } },
        ],
        { scatter: true, limit: 5 },
      ),
    ['index_by_tag', 'entities'],
  ],
  ['list', () => store.list(byUser, { user: 'u0' }, { limit: 5 }), ['index_by_user']],
  [
    'list without verify',
    () => store.list(byUser, { user: 'u0' }, { limit: 5, verify: false }),
    ['index_by_user'],
  ],
  ['getAll', () => store.getAll(byUser, { user: 'u0' }), ['index_by_user', 'entities']],
  ['count', () => store.count(byUser, { user: 'u0' }), ['index_by_user']],
  ['count of rows', () => store.count(byUser, { user: 'u0' }, { exact: false }), ['index_by_user']],
  ['exact count', () => store.count(byUser, { user: 'u0' }, { exact: true }), ['index_by_user', 'entities']],
  ['explain', () => store.explain(byUser, { user: 'u0' }), ['index_by_user']],
])('%s sends one statement for each read of a table', async (_, call, expected) => {
  const statements = await store.trace(async (trace) => {
    await call(ids[0]!)
    return trace.statements
  })
  expect(statements.map(({ table }) => table)).toEqual(expected)
})
