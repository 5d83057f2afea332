import { isLooseleafError } from '@looseleaf/core'
import { systemTime } from '@looseleaf/core/internal'
import { cleanIndex, deleteExpired } from '@looseleaf/cleaner'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { DataStore } from '@looseleaf/store'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { defineKind, indexesOf, typed } from '../src/index.ts'
import { openStore } from './issues.ts'

const Session = defineKind('session', {
  schema: z.object({ user: z.string(), token: z.string(), until: z.date().nullable().optional() }),
  indexes: {
    byUser: { by: [{ user: 'string' }] },
    byToken: { by: [{ token: 'string' }], unique: true },
    byUserListed: { by: [{ user: 'string' }], include: ['token'] },
  },
  expires: 'until',
})

let now: number
let store: DataStore
const sessions = (): ReturnType<typeof Session.in> => Session.in(store)
const inSeconds = (seconds: number): Date => new Date(now + seconds * 1000)

beforeEach(async () => {
  now = Date.now()
  store = await DataStore.open({
    shards: memoryShards(2),
    indexes: indexesOf(Session),
    migrate: true,
    time: { ...systemTime, now: () => now },
  })
  onTestFinished(() => store.close())
})

test('an expired entity is hidden from every read of its kind', async () => {
  const { id } = await sessions().insert({ user: 'ann', token: 'a', until: inSeconds(10) })
  const stays = await sessions().insert({ user: 'ann', token: 'b', until: null })
  const without = await sessions().insert({ user: 'ann', token: 'c' })
  const entity = (await store.get(id))!
  now += 9_999
  expect(await sessions().exists(id)).toBe(true)
  expect(await sessions().byUser.count({ user: 'ann' })).toBe(3)
  now += 1
  expect(await sessions().get(id)).toBeUndefined()
  expect(await sessions().exists(id)).toBe(false)
  expect(await sessions().getMany([id, stays.id])).toEqual([undefined, stays])
  expect(sessions().itemOf(entity)).toBeUndefined()
  // Ids of one millisecond have no order.
  const visible = [stays, without].toSorted((one, other) => (one.id < other.id ? -1 : 1))
  const where = { user: 'ann' }
  expect(await sessions().byUser.all(where)).toEqual(visible)
  expect(await sessions().byUser.first(where)).toEqual(visible[0])
  expect((await sessions().byUser.page(where)).items).toEqual(visible)
  expect(await Array.fromAsync(sessions().byUser.each(where))).toEqual(visible)
  const [page] = await sessions().byUser.pageMany([where], { count: true, limit: 1 })
  expect(page).toMatchObject({ items: [visible[0]], count: 2 })
  expect(await sessions().byUser.count(where)).toBe(2)
  expect(await sessions().byUser.count(where, { exact: true })).toBe(2)
  expect(await sessions().byUser.countMany([where])).toEqual([2])
  const byUser = Session.indexes.find(({ name }) => name === 'session_by_user')!
  const common = { index: byUser, where }
  expect((await store.intersect([common, common])).items.map((item) => item.id)).toEqual(
    visible.map((item) => item.id),
  )
  // Rows stay until a cleaner has deleted the entity, so `ids` has three.
  expect((await sessions().byUser.ids(where)).items).toHaveLength(3)
})

test.each([true, false])('a list from rows leaves out expired entities (verify: %s)', async (verify) => {
  await sessions().insert({ user: 'ann', token: 'a', until: inSeconds(10) })
  const { id } = await sessions().insert({ user: 'ann', token: 'b', until: inSeconds(20) })
  now += 10_000
  const { items, cost } = await sessions().byUserListed.list({ user: 'ann' }, { verify })
  expect(items).toEqual([{ id, user: 'ann', token: 'b' }])
  expect(cost.entitiesCovered).toBe(2)
})

test('a page is full in spite of expired entities, and its cursors work', async () => {
  const staying = []
  for (let i = 0; i < 12; i++) {
    const isShort = i % 3 !== 0
    const item = await sessions().insert({ user: 'ann', token: `${i}`, until: isShort ? inSeconds(1) : null })
    if (!isShort) staying.push(item)
  }
  // Pages are in the order of ids, which is that of inserts only from one millisecond to the next.
  staying.sort((a, b) => (a.id < b.id ? -1 : 1))
  now += 1_000
  const first = await sessions().byUser.page({ user: 'ann' }, { limit: 3 })
  const next = await sessions().byUser.page({ user: 'ann' }, { limit: 3, cursor: first.cursor! })
  expect([...first.items, ...next.items]).toEqual(staying)
  expect([first.items.length, next.items.length, next.cursor]).toEqual([3, 1, undefined])
  const back = await sessions().byUser.page({ user: 'ann' }, { limit: 3, cursor: next.previous! })
  expect(back.items).toEqual(first.items)
})

test('an expired entity is not found by update and delete', async () => {
  const { id } = await sessions().insert({ user: 'ann', token: 'a', until: inSeconds(10) })
  now += 10_000
  await expect(sessions().update(id, { user: 'bob' })).rejects.toMatchObject({
    code: 'NOT_FOUND',
    entity: id,
  })
  expect(await sessions().delete(id)).toBe(false)
  expect(await sessions().byUser.updateWhere({ user: 'ann' }, { user: 'bob' })).toMatchObject({ done: 0 })
})

test('an expired entity leaves its id to insert, put and upsert', async () => {
  const value = { user: 'bob', token: 'b', until: null }
  for (const write of ['insert', 'put', 'upsert'] as const) {
    const { id } = await sessions().insert({ user: 'ann', token: write, until: inSeconds(10) })
    now += 10_000
    const calls = {
      insert: () => sessions().insert({ ...value, token: 'i' }, { id }),
      put: () => sessions().put({ ...value, token: 'p', id }),
      upsert: () => sessions().upsert(id, { ...value, token: 'u' }, { user: 'patched' }),
    }
    const item = await calls[write]()
    expect(item).toMatchObject({ id, user: 'bob' })
    expect(await sessions().get(id)).toEqual(item)
  }
})

test('an expired entity leaves its unique keys to others, and is deleted for them', async () => {
  const old = await sessions().insert({ user: 'ann', token: 'a', until: inSeconds(10) })
  const other = await sessions().insert({ user: 'eve', token: 'e', until: null })
  await expect(sessions().insert({ user: 'bob', token: 'a' })).rejects.toMatchObject({
    code: 'DUPLICATE_KEY',
  })
  now += 10_000
  const taken = await sessions().insert({ user: 'bob', token: 'a', until: inSeconds(10) })
  expect(await sessions().byToken.all({ token: 'a' })).toEqual([taken])
  expect(await store.get(old.id)).toBeUndefined()
  now += 10_000
  await sessions().update(other.id, { token: 'a' })
  expect(await store.get(taken.id)).toBeUndefined()
  // An entity that has not expired keeps its key.
  const fates = await sessions().insertMany([{ user: 'bob', token: 'a' }], { fates: true })
  expect(fates.map((fate) => !fate.ok && isLooseleafError(fate.error, 'DUPLICATE_KEY'))).toEqual([true])
})

test('a write succeeds if a cleaner deletes the expired holder of its key or id first', async () => {
  const old = await sessions().insert({ user: 'ann', token: 'a', until: inSeconds(10) })
  const other = await sessions().insert({ user: 'eve', token: 'e', until: inSeconds(10) })
  now += 10_000
  const get = store.get.bind(store)
  // The write was refused because of the holder, and reads it next.
  store.get = async (id, options) => {
    await store.delete(id)
    return get(id, options)
  }
  const taken = await sessions().insert({ user: 'bob', token: 'a' })
  await sessions().insert({ user: 'bob', token: 'b' }, { id: other.id })
  store.get = get
  expect(await sessions().byToken.all({ token: 'a' })).toEqual([taken])
  expect(await sessions().get(other.id)).toMatchObject({ user: 'bob' })
  expect(await store.get(old.id)).toBeUndefined()
})

test('an expired entity comes as deleted among the changes of its kind', async () => {
  const { id } = await sessions().insert({ user: 'ann', token: 'a', until: inSeconds(10) })
  now += 10_000
  for await (const change of sessions().changes({ from: 'beginning' })) {
    expect(change).toMatchObject({ id, item: undefined })
    break
  }
})

test('an expired entity is visible again if its time is extended before its deletion', async () => {
  const { id } = await sessions().insert({ user: 'ann', token: 'a', until: inSeconds(10) })
  now += 10_000
  await store.update(id, (bag) => ({ ...bag, until: inSeconds(5) }))
  expect(await sessions().get(id)).toMatchObject({ user: 'ann' })
})

test('a write with a time that is no Date is refused', async () => {
  await expect(store.put({ _kind: 'session', user: 'ann', token: 'a', until: 'soon' })).rejects.toMatchObject(
    {
      code: 'BAD_INDEX_VALUE',
    },
  )
})

test('expires adds an index to the kind, and the store keeps `expires` for that index only', () => {
  expect(Session.indexes.at(-1)).toMatchObject({
    name: 'session_expires',
    shardOn: 'id',
    on: { _kind: 'session' },
    expires: 'until',
  })
  const { indexes } = store.context.catalog.current()
  expect(indexes.filter(({ expires }) => expires !== undefined).map(({ name }) => name)).toEqual([
    'session_expires',
  ])
  expect(store.context.driver.shards).toHaveLength(2)
})

test.each([
  [/option expires of .* has to be the path of a time; got 7/, { expires: 7 }],
  [
    /Index expires of session needs another name/,
    { expires: 'until', indexes: { expires: { by: [{ user: 'string' }] } } },
  ],
  [
    /Index byUser of session takes no `expires`/,
    { indexes: { byUser: { by: [{ user: 'string' }], expires: 'until' } } },
  ],
])('an invalid expires is refused: %s', (message, options) => {
  expect(() => defineKind('session', { schema: Session.schema, ...options } as never)).toThrow(message)
})

test('a time from a default has no effect until the entity is written', async () => {
  vi.spyOn(process, 'emitWarning').mockReturnValue()
  const older = defineKind('lease', { schema: typed<{ of: string }>() })
  const newer = defineKind('lease', {
    schema: z.object({ of: z.string(), until: z.date().default(new Date(0)) }),
    expires: 'until',
  })
  const leaseStore = await openStore(newer)
  const leases = newer.in(leaseStore)
  const { id } = await older.in(leaseStore).insert({ of: 'a' })
  expect(await leases.get(id)).toMatchObject({ of: 'a', until: new Date(0) })
  await leases.update(id, { of: 'b' })
  expect(await leases.get(id)).toBeUndefined()
})

test('an entity is deleted by the new path of expires, and not by the old one', async () => {
  const schema = z.object({ until: z.date(), purgeAt: z.date().optional() })
  const Old = defineKind('draft', { schema, expires: 'until' })
  const New = defineKind('draft', { schema, expires: 'purgeAt' })
  const drafts = await openStore(Old)
  const past = new Date(Date.now() - 120_000)
  const future = new Date(Date.now() + 120_000)
  const { id } = await New.in(drafts).insert({ until: past, purgeAt: future })
  const gone = await New.in(drafts).insert({ until: past, purgeAt: past })
  const without = await New.in(drafts).insert({ until: past })
  for (const index of indexesOf(New)) await drafts.addIndex(index)
  await cleanIndex(drafts)
  expect(await deleteExpired(drafts)).toBe(1)
  expect(await drafts.get(gone.id)).toBeUndefined()
  expect(await New.in(drafts).getMany([id, without.id])).toMatchObject([{ purgeAt: future }, { until: past }])
})
