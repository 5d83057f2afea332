import { randomUUID } from 'node:crypto'
import type { EntityId } from '@looseleaf/core'
import type { BatchWrite } from '@looseleaf/store'
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
