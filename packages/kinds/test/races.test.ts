import { isLooseleafError, LooseleafError, type EntityId } from '@looseleaf/core'
import type { DataStore } from '@looseleaf/store'
import { beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { defineKind, typed, upgradeKinds } from '../src/index.ts'
import { Issue, openStore } from './issues.ts'

/* Other processes write between the calls of a store that one call of a kind makes. */

const Note = defineKind('note', { schema: typed<{ text: string }>() })
const Session = defineKind('session', {
  schema: typed<{ token: string; until: Date }>(),
  indexes: { byToken: { by: [{ token: 'string' }], unique: true } },
  expires: 'until',
})
const fresh = { project: 'p', title: 'A' }
const down = new LooseleafError('SHARD_UNAVAILABLE', 'down')

let store: DataStore
let issues: ReturnType<typeof Issue.in>

beforeEach(async () => {
  store = await openStore(Issue, Note, Session)
  issues = Issue.in(store)
})

type Name = 'get' | 'insert' | 'update' | 'delete'

/** Runs `act` before the next call of the store with this name. */
function before(name: Name, act: () => unknown): void {
  const real = store[name].bind(store) as (...args: readonly unknown[]) => unknown
  Object.assign(store, {
    [name]: async (...args: readonly unknown[]) => {
      Object.assign(store, { [name]: real })
      await act()
      return real(...args)
    },
  })
}

/** Lets the next call of the store with this name reject. */
const reject = (name: Name, error: Error): void =>
  before(name, () => {
    throw error
  })

test('an upsert goes on if another process inserts the entity, and deletes it again', async () => {
  const id = store.newId()
  before('insert', () =>
    store.put({ ...fresh, _kind: 'issue', status: 'open', labels: [], assignee: null }, { id }),
  )
  before('get', () => store.delete(id))
  expect(await issues.upsert(id, fresh, { title: 'B' })).toMatchObject({ id, title: 'A' })
})

test('a put of an id changes the entity that another process inserts meanwhile, and keeps one of another kind', async () => {
  const id = store.newId()
  before('insert', () => store.put({ ...fresh, _kind: 'issue', title: 'other' }, { id }))
  expect(await issues.put({ ...fresh, title: 'C' }, { id })).toMatchObject({ title: 'C' })
  const taken = store.newId()
  before('insert', () => store.put({ text: 'hello', _kind: 'note' }, { id: taken }))
  await expect(issues.put({ ...fresh, title: 'D' }, { id: taken })).rejects.toMatchObject({
    code: 'ALREADY_EXISTS',
  })
})

test('a put of a new id rejects if its unique key is taken, or its shard is away', async () => {
  await issues.insert(fresh)
  await expect(issues.put(fresh, { id: store.newId() })).rejects.toMatchObject({ code: 'DUPLICATE_KEY' })
  reject('update', down)
  await expect(issues.put({ ...fresh, title: 'B' }, { id: store.newId() })).rejects.toBe(down)
})

test('a delete by id deletes a later version, and no entity that has got another kind meanwhile', async () => {
  const [first, second] = await issues.insertMany([fresh, { ...fresh, title: 'B' }])
  before('delete', () => store.update(first!.id, (bag) => ({ ...bag, project: 'q' })))
  expect(await issues.delete(first!.id)).toBe(true)
  expect(await store.get(first!.id)).toBeUndefined()
  before('delete', () => store.put({ text: 'now a note', _kind: 'note' }, { id: second!.id }))
  expect(await issues.delete(second!.id)).toBe(false)
  expect(await Note.in(store).get(second!.id)).toMatchObject({ text: 'now a note' })
})

test('a delete by id rejects if its shard is away', async () => {
  const { id } = await issues.insert(fresh)
  reject('delete', down)
  await expect(issues.delete(id)).rejects.toBe(down)
})

test('a call with many entities may be retried only if its other writes may be repeated', async () => {
  const [item, other] = await issues.insertMany([fresh, { ...fresh, title: 'B' }])
  const { id } = other!
  const [one, two] = ['C', 'D'].map((title) => ({ ...fresh, title }))
  const retryable = async (name: Name, call: () => Promise<unknown>): Promise<boolean> => {
    reject(name, down)
    const error: unknown = await call().catch((thrown: unknown) => thrown)
    if (!isLooseleafError(error, 'SOME_FAILED')) throw error
    expect(error.fates.map(({ ok }) => ok)).toEqual([false, true])
    return error.retryable
  }
  const ids: EntityId[] = [item!.id, id]
  expect(await retryable('insert', () => issues.insertMany([one!, two!]))).toBe(false)
  expect(await retryable('update', () => issues.putMany([item!, { ...fresh, title: 'E', id }]))).toBe(true)
  expect(await retryable('update', () => issues.putMany([item!, { ...fresh, title: 'F' }]))).toBe(false)
  const now = (await issues.get(id))!
  expect(await retryable('update', () => issues.putMany([item!, now]))).toBe(false)
  expect(await retryable('update', () => issues.updateMany(ids, { project: 'q' }))).toBe(true)
  expect(await retryable('update', () => issues.updateMany(ids, () => ({ project: 'r' })))).toBe(false)
  const later = (await issues.get(id))!
  expect(await retryable('update', () => issues.updateMany([ids[0]!, later], { project: 's' }))).toBe(false)
  const patch = { ...(await issues.get(id))!, project: 't' }
  expect(await retryable('update', () => issues.updateMany([id, id], patch))).toBe(false)
  expect(await retryable('delete', () => issues.deleteMany(ids))).toBe(true)
})

const [past, future] = [new Date(0), new Date(8_000_000_000_000)]

test('an expired holder of a key that is extended meanwhile keeps the key, and other errors of its deletion come through', async () => {
  const sessions = Session.in(store)
  const { id } = await sessions.insert({ token: 'a', until: past })
  before('delete', () => store.update(id, (bag) => ({ ...bag, until: future })))
  await expect(sessions.insert({ token: 'a', until: future })).rejects.toMatchObject({
    code: 'DUPLICATE_KEY',
    holder: id,
  })
  await store.update(id, (bag) => ({ ...bag, until: past }))
  reject('delete', down)
  await expect(sessions.insert({ token: 'a', until: future })).rejects.toBe(down)
})

test('a write of a batch takes the key of an expired entity of its kind, and of no other one', async () => {
  const sessions = Session.in(store)
  const { id } = await sessions.insert({ token: 'a', until: past })
  const [taken] = await store.batch([sessions.writes.insert({ token: 'a', until: future })])
  expect(await sessions.byToken.all({ token: 'a' })).toEqual([taken])
  expect(await store.get(id)).toBeUndefined()
  await expect(store.batch([sessions.writes.insert({ token: 'a', until: future })])).rejects.toMatchObject({
    code: 'DUPLICATE_KEY',
    holder: taken.id,
  })
  const item = await issues.insert(fresh)
  await expect(store.batch([issues.writes.insert(fresh)])).rejects.toMatchObject({
    code: 'DUPLICATE_KEY',
    holder: item.id,
  })
})

test('upgradeKinds ends with an error that every entity would meet, and lists any other', async () => {
  const Old = defineKind('book', { schema: typed<{ title: string }>() })
  const New = defineKind('book', { schema: z.object({ title: z.string(), pages: z.number().default(0) }) })
  const { id } = await Old.in(store).insert({ title: 'A' })
  const errors = [down, new LooseleafError('ABORTED', 'aborted'), new LooseleafError('CLOSED', 'closed')]
  for (const error of errors) {
    reject('update', error)
    await expect(upgradeKinds(store, [New])).rejects.toBe(error)
  }
  const mistake = new Error('a mistake')
  reject('update', mistake)
  expect(await upgradeKinds(store, [New])).toEqual({
    scanned: 1,
    upgraded: { book: 0 },
    failed: [{ id, error: mistake }],
    complete: false,
  })
  reject('update', new LooseleafError('NOT_FOUND', 'gone'))
  expect(await upgradeKinds(store, [New])).toMatchObject({ upgraded: { book: 0 }, complete: true })
  expect(await upgradeKinds(store, [New])).toMatchObject({ upgraded: { book: 1 }, complete: true })
})
