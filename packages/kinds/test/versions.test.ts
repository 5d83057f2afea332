import type { Bag } from '@looseleaf/core'
import { expect, test } from 'vitest'
import * as v from 'valibot'
import { z } from 'zod'
import { defineKind, typed, upgradeKinds } from '../src/index.ts'
import { openStore } from './issues.ts'

const indexes = { byName: { by: [{ name: 'string' }] } } as const
const First = defineKind('person', { schema: typed<{ first: string; last: string }>() })
const Second = defineKind('person', {
  schema: z.object({ name: z.string() }),
  indexes,
  upgrades: [({ first, last, ...others }) => ({ ...others, name: `${String(first)} ${String(last)}` })],
})
const Third = defineKind('person', {
  schema: z.object({ name: z.string(), email: z.string().nullable() }),
  indexes,
  upgrades: [
    ({ first, last, ...others }) => ({ ...others, name: `${String(first)} ${String(last)}` }),
    (bag: Bag) => ({ ...bag, email: null }),
  ],
})

test('old shapes are brought up when they are read, and stored so when they are written', async () => {
  const store = await openStore(Third)
  const { id } = await First.in(store).insert({ first: 'Ada', last: 'Lovelace' })
  const people = Third.in(store)
  expect(await people.get(id)).toMatchObject({ name: 'Ada Lovelace', email: null })
  // The index sees what is stored.
  expect(await people.byName.first({ name: 'Ada Lovelace' })).toBeUndefined()
  await people.update(id, { email: 'ada@example.com' })
  expect(await store.get(id)).toEqual({
    id,
    _kind: 'person',
    _version: 2,
    name: 'Ada Lovelace',
    email: 'ada@example.com',
  })
  expect(await people.byName.first({ name: 'Ada Lovelace' })).toMatchObject({ id, email: 'ada@example.com' })
})

test('what a newer program has stored survives an update by an older one, and so does its shape', async () => {
  const store = await openStore(Second)
  const { id } = await Third.in(store).insert({ name: 'Ada', email: 'ada@example.com' })
  const updated = await Second.in(store).update(id, { name: 'Ada L.' })
  expect(updated).toMatchObject({ name: 'Ada L.', email: 'ada@example.com' })
  expect(await store.get(id)).toMatchObject({ _version: 2, name: 'Ada L.', email: 'ada@example.com' })
})

const loose = { a: 1, author: { name: 'Ada', karma: 3 }, tags: [{ text: 'x', by: 'Ada' }], extra: true }

test.each([
  [
    'zod',
    z.object({
      a: z.number(),
      author: z.object({ name: z.string() }),
      tags: z.array(z.object({ text: z.string() })),
    }),
  ],
  [
    'valibot',
    v.object({
      a: v.number(),
      author: v.object({ name: v.string() }),
      tags: v.array(v.object({ text: v.string() })),
    }),
  ],
])('with checked reads by %s unknown properties are not seen, and survive', async (_, schema) => {
  const store = await openStore()
  const things = defineKind('thing', { schema, checkReads: true }).in(store)
  const { id } = await store.put({ ...loose, _kind: 'thing' })
  const shown = { a: 1, author: { name: 'Ada' }, tags: [{ text: 'x' }] }
  expect(await things.get(id)).toEqual({ ...shown, id, version: expect.any(Number) })
  await things.update(id, ({ author, tags }) => ({
    author: { ...author, name: 'Eve' },
    tags: [{ text: 'new' }, ...tags],
  }))
  expect(await store.get(id)).toEqual({
    ...loose,
    _kind: 'thing',
    id,
    author: { name: 'Eve', karma: 3 },
    tags: [{ text: 'new' }, { text: 'x', by: 'Ada' }],
  })
})

test('what is read and does not fit is told with its id', async () => {
  const store = await openStore()
  const things = defineKind('thing', { schema: z.object({ a: z.number() }), checkReads: true }).in(store)
  const { id } = await store.put({ a: 'x', _kind: 'thing' })
  await expect(things.get(id)).rejects.toMatchObject({ code: 'SCHEMA_MISMATCH', entity: id })
})

test('upgradeKinds writes what is old in the newest shape, and nothing twice', async () => {
  const store = await openStore(Third)
  const people = First.in(store)
  for (let n = 0; n < 250; n++) await people.insert({ first: 'Ada', last: String(n) })
  await Third.in(store).insert({ name: 'new', email: null })
  await store.put({ first: 'not', last: 'one of them' })
  expect(await upgradeKinds(store, [Third])).toEqual({ scanned: 252, upgraded: { person: 250 } })
  expect(await Third.in(store).byName.first({ name: 'Ada 249' })).toBeDefined()
  expect(await upgradeKinds(store, [Third])).toEqual({ scanned: 252, upgraded: { person: 0 } })
})

test('upgradeKinds tells how far it is', async () => {
  const store = await openStore(Third)
  await First.in(store).insertMany(Array.from({ length: 1_000 }, () => ({ first: 'Ada', last: 'L' })))
  const told: number[] = []
  await upgradeKinds(store, [Third], { onProgress: ({ scanned }) => told.push(scanned) })
  expect(told).toEqual([1_000])
})

test('an entity that cannot be upgraded ends it, and the others are upgraded when it is begun again', async () => {
  const store = await openStore(Third)
  const { id } = await store.put({ _kind: 'person', _version: 1, name: 'Ada', age: 'old' })
  const Strict = defineKind('person', {
    schema: typed<{ name: string }>(),
    indexes,
    upgrades: [
      (bag) => bag,
      (bag) => {
        if (typeof bag['age'] !== 'number') throw new Error('An age has to be a number.')
        return bag
      },
    ],
  })
  await expect(upgradeKinds(store, [Strict])).rejects.toThrow('An age has to be a number.')
  await store.update(id, (bag) => ({ ...bag, age: 36 }))
  expect(await upgradeKinds(store, [Strict])).toMatchObject({ upgraded: { person: 1 } })
})
