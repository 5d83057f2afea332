import { randomUUID } from 'node:crypto'
import type { EntityId } from '@looseleaf/core'
import { unchanged, type BatchWrite } from '@looseleaf/store'
import { prepared, type PreparedWrite } from '@looseleaf/store/internal'
import { expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { defineKind, typed, type ItemOf } from '../src/index.ts'
import { openStore } from './issues.ts'

const Account = defineKind('account', {
  schema: typed<{ group: string; name: string; cents: number }>(),
  near: { group: 'uuid' },
  indexes: { byName: { by: [{ group: 'uuid' }, { name: 'string' }], unique: true } },
})
const Transfer = defineKind('transfer', {
  schema: typed<{ group: string; cents: number; until?: Date }>(),
  near: { group: 'uuid' },
  expires: 'until',
})

async function openAccounts() {
  const store = await openStore(Account, Transfer)
  const group = randomUUID()
  const [accounts, transfers] = [Account.in(store), Transfer.in(store)]
  const ada = await accounts.insert({ group, name: 'ada', cents: 100 })
  const bob = await accounts.insert({ group, name: 'bob', cents: 0 })
  const move = (from: EntityId, to: EntityId, cents: number) =>
    [
      accounts.writes.update(from, (now) => {
        if (now.cents < cents) throw new Error('not enough')
        return { cents: now.cents - cents }
      }),
      accounts.writes.update(to, (now) => ({ cents: now.cents + cents })),
      transfers.writes.insert({ group, cents }),
    ] as const
  return { store, group, accounts, transfers, ada, bob, move }
}

test('writes of several kinds take place together, and their results are items', async () => {
  const { store, group, accounts, transfers, ada, bob, move } = await openAccounts()
  const [from, to, transfer] = await store.batch(move(ada.id, bob.id, 30))
  expectTypeOf(from).toEqualTypeOf<ItemOf<typeof Account>>()
  expectTypeOf(transfer).toEqualTypeOf<ItemOf<typeof Transfer>>()
  expect(from).toEqual({ ...ada, cents: 70, version: from.version })
  expect(to).toEqual({ ...bob, cents: 30, version: from.version })
  expect(transfer).toEqual({ group, cents: 30, id: transfer.id, version: from.version })
  expect(await accounts.get(ada.id)).toEqual(from)
  expect(await transfers.get(transfer.id)).toEqual(transfer)
})

test('a write that several batches share gives each of them the item of its own commit', async () => {
  const { store, accounts, bob } = await openAccounts()
  const write = accounts.writes.update(bob.id, (now) => ({ cents: now.cents + 1 }))
  const results = await Promise.all(Array.from({ length: 8 }, () => store.batch([write])))
  const byVersion = results.map(([item]) => item).toSorted((one, other) => one.version - other.version)
  expect(byVersion.map(({ cents }) => cents)).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
})

test('an edit that throws keeps every entity of the batch', async () => {
  const { store, accounts, ada, bob, move } = await openAccounts()
  await expect(store.batch(move(bob.id, ada.id, 30))).rejects.toThrow('not enough')
  expect(await accounts.getMany([ada.id, bob.id])).toEqual([ada, bob])
})

test('an item in a batch has to match its version, for every write', async () => {
  const { store, accounts, ada, bob } = await openAccounts()
  await accounts.update(bob.id, { cents: 1 })
  const { writes } = accounts
  const stale: readonly BatchWrite<unknown>[] = [
    writes.put({ ...bob, cents: 2 }),
    writes.update(bob, { cents: 2 }),
    writes.delete(bob),
    writes.check(bob),
  ]
  for (const write of stale) {
    await expect(store.batch([writes.update(ada, { cents: 2 }), write])).rejects.toMatchObject({
      code: 'VERSION_MISMATCH',
      item: 1,
      entity: bob.id,
    })
  }
  expect(await accounts.get(ada.id)).toEqual(ada)
})

test('two batches never both delete the same item, and a delete by id alone is no condition', async () => {
  const { store, accounts, ada, bob } = await openAccounts()
  const { writes } = accounts
  const take = (): Promise<unknown> =>
    store.batch([writes.delete(bob), writes.update(ada.id, ({ cents }) => ({ cents: cents + 1 }))])
  const outcomes = await Promise.allSettled([take(), take(), take()])
  const refused = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []))
  const error = { code: 'VERSION_MISMATCH', item: 0, entity: bob.id }
  expect(refused).toMatchObject([error, error])
  expect((await accounts.get(ada.id))?.cents).toBe(ada.cents + 1)
  const [deleted] = await store.batch([writes.delete(bob.id)])
  expect(deleted).toBe(false)
})

test('an entity of another kind does not exist for the writes of a kind, and keeps its id', async () => {
  const { store, accounts, transfers, ada } = await openAccounts()
  const refused = async (write: BatchWrite<unknown>): Promise<string> =>
    store.batch([accounts.writes.check(ada), write]).then(
      () => 'none',
      (error: { code: string }) => error.code,
    )
  const { writes } = transfers
  const value = { group: ada.group, cents: 1 }
  expect(await refused(writes.update(ada.id, { cents: 1 }))).toBe('BAD_OPTION')
  const other = (await accounts.insert({ ...value, name: 'other' })).id
  expect(await refused(writes.update(other, { cents: 1 }))).toBe('NOT_FOUND')
  expect(await refused(writes.check(other))).toBe('NOT_FOUND')
  expect(await refused(writes.put(value, { id: other }))).toBe('ALREADY_EXISTS')
  expect(await refused(writes.insert(value, { id: other }))).toBe('ALREADY_EXISTS')
  const [, deleted] = await store.batch([accounts.writes.check(ada), writes.delete(other)])
  expect(deleted).toBe(false)
  expect(await accounts.exists(other)).toBe(true)
})

test('two accounts of a group exchange their unique names in one batch', async () => {
  const { store, group, accounts, ada, bob } = await openAccounts()
  const { writes } = accounts
  await store.batch([writes.update(ada, { name: 'bob' }), writes.update(bob, { name: 'ada' })])
  expect(await accounts.byName.first({ group, name: 'ada' })).toMatchObject({ id: bob.id })
  expect(await accounts.byName.first({ group, name: 'bob' })).toMatchObject({ id: ada.id })
  await expect(accounts.insert({ group, name: 'ada', cents: 1 })).rejects.toMatchObject({
    code: 'DUPLICATE_KEY',
    holder: bob.id,
  })
})

test('a write of a batch replaces an expired entity of its id', async () => {
  const { store, group, accounts, transfers, ada } = await openAccounts()
  const expired = await transfers.insert({ group, cents: 1, until: new Date(0) })
  const { writes } = transfers
  await expect(
    store.batch([accounts.writes.check(ada), writes.update(expired.id, { cents: 2 })]),
  ).rejects.toMatchObject({ code: 'NOT_FOUND', item: 1 })
  const [inserted] = await store.batch([writes.insert({ group, cents: 3 }, { id: expired.id })])
  expect(await transfers.get(expired.id)).toEqual(inserted)
})

test('a value that does not fit the schema is refused before the batch begins', async () => {
  const Named = defineKind('named', { schema: typed<{ name: string }>() })
  const named = Named.in(await openStore(Named))
  // @ts-expect-error the kind has no such property
  expect(() => named.writes.update(named.newId(), { nam: 'x' })).not.toThrow()
  expect(() => named.writes.update(named.newId(), { name: undefined as unknown as string })).toThrow(
    'undefined',
  )
  expect(() => named.writes.delete({ id: named.newId() } as never)).toThrow('without a version')
  const { writes } = defineKind('checked', { schema: z.object({ name: z.string() }) }).in(named.store)
  // The write does not know its place in the batch.
  expect(() => writes.insert({ name: 5 } as never)).toThrow(
    expect.objectContaining({ code: 'SCHEMA_MISMATCH', item: undefined }),
  )
})

test('a batch is refused while the store lacks a unique index of one of its kinds', async () => {
  const store = await openStore(Transfer)
  const [accounts, transfers] = [Account.in(store), Transfer.in(store)]
  const group = randomUUID()
  const batch = store.batch([
    transfers.writes.insert({ group, cents: 1 }),
    accounts.writes.insert({ group, name: 'ada', cents: 1 }),
  ])
  await expect(batch).rejects.toMatchObject({ code: 'INDEX_NOT_FOUND', item: 1 })
})

test('an entity that is checked, or kept by its edit, is the result of its write', async () => {
  const { store, accounts, ada, bob } = await openAccounts()
  const { writes } = accounts
  expect(await store.batch([writes.check(ada), writes.check(bob.id)])).toEqual([ada, bob])
  expect(await store.batch([writes.update(bob.id, () => unchanged)])).toEqual([bob])
})

test('an entity that does not exist is refused by every write but an insert, a put and a delete', async () => {
  const { store, group, accounts } = await openAccounts()
  const { writes } = accounts
  const value = (name: string) => ({ group, name, cents: 1 })
  const missing = accounts.newId({ group })
  for (const write of [writes.update(missing, { cents: 1 }), writes.check(missing)])
    await expect(store.batch([write])).rejects.toMatchObject({ code: 'NOT_FOUND', entity: missing })
  expect(await store.batch([writes.delete(missing)])).toEqual([false])
  const [put] = await store.batch([writes.put(value('put'), { id: missing })])
  expect(await accounts.get(missing)).toEqual(put)
  const [inserted, fresh] = await store.batch([writes.insert(value('new')), writes.put(value('other'))])
  expect(await accounts.getMany([inserted.id, fresh.id])).toEqual([inserted, fresh])
})

test('a put of a batch replaces an expired entity, and a delete finds none', async () => {
  const { store, group, transfers } = await openAccounts()
  const { writes } = transfers
  const expired = await transfers.insert({ group, cents: 1, until: new Date(0) })
  expect(await store.batch([writes.delete(expired.id)])).toEqual([false])
  await expect(store.batch([writes.put({ ...expired, cents: 2 })])).rejects.toMatchObject({
    code: 'NOT_FOUND',
  })
  const [put] = await store.batch([writes.put({ group, cents: 2 }, { id: expired.id })])
  expect(await transfers.get(expired.id)).toEqual(put)
})

test('writes of a kind without near are placed in the bucket of their batch', async () => {
  const Plain = defineKind('plain', { schema: typed<{ n: number }>() })
  const store = await openStore(Plain)
  const { writes } = Plain.in(store)
  const [one, two] = await store.batch([writes.insert({ n: 1 }), writes.put({ n: 2 })])
  expect([one.n, two.n]).toEqual([1, 2])
  expect(one.id.slice(15, 18)).toBe(two.id.slice(15, 18))
})

test('a write of a batch refuses an entity that a newer program has brought to another shape', async () => {
  const Old = defineKind('old', { schema: typed<{ n: number }>(), upgrades: [] })
  const New = defineKind('old', { schema: typed<{ n: number }>(), upgrades: [(bag) => bag] })
  const store = await openStore(Old)
  const { id } = await New.in(store).insert({ n: 1 })
  const { writes } = Old.in(store)
  for (const write of [writes.update(id, { n: 2 }), writes.put({ n: 2 }, { id }), writes.check(id)])
    await expect(store.batch([write])).rejects.toMatchObject({ code: 'SCHEMA_MISMATCH', entity: id })
})

test('only an update of any version adds up if its batch is repeated', async () => {
  const { group, accounts, ada } = await openAccounts()
  const { writes } = accounts
  const { id, version } = ada
  const value = { group, name: 'eve', cents: 1 }
  const contentOf = (write: BatchWrite<unknown>): unknown => {
    const { name, id: of, ifVersion, addsUp } = write[prepared] as PreparedWrite<unknown>
    return [name, of, ifVersion, addsUp]
  }
  expect(
    [
      writes.insert(value),
      writes.insert(value, { id }),
      writes.put(value),
      writes.put(ada),
      writes.put(value, { id }),
      writes.update(id, { cents: 2 }),
      writes.update(ada, { cents: 2 }),
      writes.delete(id),
      writes.delete(ada),
      writes.check(ada),
    ].map(contentOf),
  ).toEqual([
    ['insert', undefined, undefined, false],
    ['insert', id, undefined, false],
    ['put', undefined, undefined, false],
    ['put', id, version, false],
    ['put', id, undefined, false],
    ['update', id, undefined, true],
    ['update', id, version, false],
    ['delete', id, undefined, false],
    ['delete', id, version, false],
    ['check', id, version, false],
  ])
})

test('an entity whose id is given may be anywhere, also without its place', async () => {
  const { store, transfers } = await openAccounts()
  const id = store.newId()
  await store.batch([transfers.writes.insert({ cents: 1 } as never, { id })])
  expect(await transfers.get(id)).toMatchObject({ cents: 1 })
  expect(() => transfers.writes.insert({ cents: 1 } as never)).toThrow('placed near its property group')
})
