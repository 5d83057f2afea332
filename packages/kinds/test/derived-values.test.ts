import type { Bag } from '@looseleaf/core'
import { KIND_PROPERTY } from '@looseleaf/core/internal'
import type { DataStore } from '@looseleaf/store'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { defineKind, typed, upgradeKinds } from '../src/index.ts'
import { openStore } from './issues.ts'

const Older = defineKind('appt', { schema: typed<{ client: string; place: string | null }>() })
const indexes = {
  byLocation: { by: [{ location: { type: 'string', nulls: 'first' } }] },
  byClient: { by: [{ client: 'string' }, { location: { type: 'string', nulls: 'last' } }] },
} as const
const location = z.string().nullable()
const Upgraded = defineKind('appt', {
  schema: z.object({ client: z.string(), location }),
  upgrades: [({ place, ...others }) => ({ ...others, location: place ?? null })],
  indexes,
})
const Defaulted = defineKind('appt', {
  schema: z.object({ client: z.string(), location: location.default('Room 1') }),
  indexes,
})
const Checked = defineKind('appt', {
  schema: z.object({ client: z.string(), location: location.default('Room 1') }),
  checkReads: true,
  indexes,
})

async function storeWithOldEntities(kind: typeof Upgraded): Promise<DataStore> {
  vi.spyOn(process, 'emitWarning').mockReturnValue()
  const store = await openStore(kind)
  await Older.in(store).insertMany(
    Array.from({ length: 5 }, (_, i) => ({ client: `c${i}`, place: 'Room 1' })),
  )
  return store
}

const kinds = [
  ['an upgrade', Upgraded],
  ['a default', Defaulted as unknown as typeof Upgraded],
  ['a checked read', Checked as unknown as typeof Upgraded],
] as const

test.each(kinds)('no query returns an entity that does not match after %s', async (_, kind) => {
  const store = await storeWithOldEntities(kind)
  const { byLocation, insert } = kind.in(store)
  const none = await insert({ client: 'n', location: null })
  const where = { location: null }

  expect((await byLocation.page(where)).items).toEqual([none])
  expect(await byLocation.all(where)).toEqual([none])
  expect(await byLocation.first(where)).toEqual(none)
  expect(await Array.fromAsync(byLocation.each(where, { limit: 2 }))).toEqual([none])
  const pages = await byLocation.pageMany([where, { location: 'Room 2' }])
  expect(pages.map(({ items }) => items)).toEqual([[none], []])
})

test.each(kinds)(
  'updateWhere and deleteWhere leave an entity that does not match after %s',
  async (_, kind) => {
    const store = await storeWithOldEntities(kind)
    const appts = kind.in(store)
    await appts.insert({ client: 'n', location: null })

    expect(await appts.byLocation.updateWhere({ location: null }, { client: 'm' })).toMatchObject({ done: 1 })
    expect(await appts.byLocation.deleteWhere({ location: null })).toMatchObject({ done: 1, complete: true })
    const left = await Array.fromAsync(store.scan(), ({ client }: Bag) => client)
    expect(left.toSorted()).toEqual(['c0', 'c1', 'c2', 'c3', 'c4'])
  },
)

test.each(kinds)('a query that does not depend on a value from %s returns the entity', async (_, kind) => {
  const store = await storeWithOldEntities(kind)
  const { byClient } = kind.in(store)
  expect(await byClient.all({ client: 'c3' })).toMatchObject([{ client: 'c3', location: 'Room 1' }])
})

test('a query finds a derived value once upgradeKinds has written it', async () => {
  const store = await storeWithOldEntities(Upgraded)
  const { byLocation } = Upgraded.in(store)
  expect(await byLocation.all({ location: 'Room 1' })).toEqual([])
  expect(await byLocation.count({ location: null })).toBe(5)
  await upgradeKinds(store, [Upgraded])
  expect(await byLocation.all({ location: 'Room 1' })).toHaveLength(5)
  expect(await byLocation.count({ location: null })).toBe(0)
})

test('an upgrade that changes a value in a list or a range hides the entity from queries by the old value', async () => {
  vi.spyOn(process, 'emitWarning').mockReturnValue()
  const kind = defineKind('task', {
    schema: typed<{ n: number; tags: readonly string[] }>(),
    upgrades: [({ n, tags, ...bag }) => ({ ...bag, n: Number(n) + 100, tags: (tags as string[]).slice(1) })],
    indexes: { byN: { by: [{ n: 'integer' }] }, byTag: { by: [{ tags: 'string[]' }] } },
  })
  const store = await openStore(kind)
  await store.put({ [KIND_PROPERTY]: 'task', n: 1, tags: ['a', 'b'] })
  const tasks = kind.in(store)
  expect(await tasks.byN.all({ n: { lt: 100 } }, { scatter: true })).toEqual([])
  expect(await tasks.byN.all({ n: { in: [1, 2] } })).toEqual([])
  expect(await tasks.byTag.all({ tags: 'a' })).toEqual([])
  expect(await tasks.byTag.all({ tags: 'b' })).toMatchObject([{ n: 101, tags: ['b'] }])
})

test.each(kinds)('a caller may change its where during a query of entities with %s', async (_, kind) => {
  const store = await storeWithOldEntities(kind)
  const { byClient } = kind.in(store)
  const list = ['c1', 'c2']
  const where = { client: { in: list } }
  const wheres = [where]
  const queries = [byClient.page(where), byClient.pageMany(wheres), byClient.all(where)] as const
  list.fill('c3')
  where.client = { in: [] }
  wheres.length = 0
  const [page, [first], all] = await Promise.all(queries)
  for (const items of [page.items, first!.items, all])
    expect(items.map(({ client }) => client)).toEqual(['c1', 'c2'])
})
