import type { Bag } from '@looseleaf/core'
import { unchanged } from '@looseleaf/store'
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
/** Has the same shape as `Second`, and one more property. */
const Newer = defineKind('person', {
  schema: z.object({ name: z.string(), address: z.object({ street: z.string(), floor: z.number() }) }),
  upgrades: [(bag) => bag],
})

test('an old shape is upgraded when it is read, and stored at the next write', async () => {
  const store = await openStore(Third)
  const { id } = await First.in(store).insert({ first: 'Ada', last: 'Lovelace' })
  const people = Third.in(store)
  expect(await people.get(id)).toMatchObject({ name: 'Ada Lovelace', email: null })
  // The index has the stored values.
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

test('an item that this process has just written is updated without a read, and keeps what a newer program has stored', async () => {
  const store = await openStore(Second)
  const people = Second.in(store)
  const address = { street: 'Main', floor: 2 }
  const { id } = await Newer.in(store).insert({ name: 'Ada', address })
  const verbsOf = (work: () => Promise<unknown>): Promise<string[]> =>
    store.trace(async ({ statements }) => {
      await work()
      return statements.map(({ operation }) => operation)
    })
  const read = (await people.get(id))!
  let item = read
  expect(await verbsOf(async () => (item = await people.update(read, { name: 'Ada L.' })))).toContain(
    'SELECT',
  )
  expect(await verbsOf(() => people.update(item, { name: 'Ada Lovelace' }))).not.toContain('SELECT')
  expect(await store.get(id)).toMatchObject({ name: 'Ada Lovelace', address })
  expect(await people.byName.first({ name: 'Ada L.' })).toBeUndefined()
})

test('a property of a newer program survives an update by an older one', async () => {
  const store = await openStore(Second)
  const address = { street: 'Main', floor: 2 }
  const { id } = await Newer.in(store).insert({ name: 'Ada', address })
  const updated = await Second.in(store).update(id, { name: 'Ada L.' })
  expect(updated).toMatchObject({ name: 'Ada L.', address })
  const Street = defineKind('person', {
    schema: z.object({ address: z.object({ street: z.string() }) }),
    upgrades: [(bag) => bag],
  })
  const streets = Street.in(store)
  // An edit gets all properties and copies them.
  await streets.update(id, (now) => ({ address: { ...now.address, street: 'High' } }))
  expect(await store.get(id)).toMatchObject({ name: 'Ada L.', address: { street: 'High', floor: 2 } })
  await streets.update(id, { address: { street: 'High' } })
  expect(await store.get(id)).toMatchObject({ address: { street: 'High', floor: 2 } })
  // Another address does not get the floor of this one.
  await streets.update(id, { address: { street: 'Low' } })
  expect((await store.get(id))?.['address']).toEqual({ street: 'Low' })
})

test('an older program cannot change a shape of a newer program, but can delete the entity', async () => {
  const store = await openStore(Second)
  const { id } = await Third.in(store).insert({ name: 'Ada', email: 'ada@example.com' })
  const people = Second.in(store)
  expect(await people.get(id)).toMatchObject({ name: 'Ada' })
  for (const change of [
    () => people.update(id, { name: 'Eve' }),
    () => people.put({ name: 'Eve' }, { id }),
  ]) {
    await expect(change()).rejects.toMatchObject({
      code: 'SCHEMA_MISMATCH',
      message: `The person ${id} is in shape 2, to which a newer program has brought it; this program knows shape 1, and does not change it.`,
    })
  }
  expect(await people.delete(id)).toBe(true)
})

test('a known property that the schema leaves out is removed, such as that of another variant', async () => {
  const store = await openStore()
  const shapes = defineKind('shape', {
    schema: z.discriminatedUnion('is', [
      z.object({ is: z.literal('circle'), radius: z.number() }),
      z.object({ is: z.literal('square'), side: z.number() }),
    ]),
  }).in(store)
  const { id } = await store.put({ _kind: 'shape', is: 'circle', radius: 1, unknown: true })
  await shapes.update(id, { is: 'square', side: 2 } as object)
  expect(await store.get(id)).toEqual({ id, _kind: 'shape', is: 'square', side: 2, unknown: true })
})

test('an upgrade that mutates its argument does not mutate other copies', async () => {
  const store = await openStore()
  const prices = defineKind('price', {
    schema: typed<{ price: { cents: number } }>(),
    upgrades: [
      (bag) => {
        const price = bag['price'] as { euros?: number; cents?: number }
        price.cents = Number(price.euros) * 100
        delete price.euros
        return bag
      },
    ],
  }).in(store)
  const { id } = await store.put({ _kind: 'price', price: { euros: 3 } })
  expect(await prices.update(id, () => unchanged)).toMatchObject({ price: { cents: 300 } })
  expect(await prices.update(id, ({ price }) => ({ price }))).toMatchObject({ price: { cents: 300 } })
})

test.each([
  ['throws', () => JSON.parse('{') as Bag, 'its upgrade threw.'],
  [
    'is async',
    (async () => ({})) as unknown as () => Bag,
    'its upgrade has to return the new bag synchronously.',
  ],
  [
    'returns nothing',
    () => undefined as unknown as Bag,
    'its upgrade has to return the new bag synchronously.',
  ],
])('an upgrade that %s is reported with its entity', async (_, upgrade, reason) => {
  const store = await openStore()
  const things = defineKind('thing', { schema: typed<object>(), upgrades: [(bag) => bag, upgrade] }).in(store)
  const { id } = await store.put({ _kind: 'thing' })
  await expect(things.get(id)).rejects.toMatchObject({
    code: 'SCHEMA_MISMATCH',
    entity: id,
    message: `The thing ${id} cannot be brought from shape 1 to 2: ${reason}`,
  })
})

const loose = {
  a: 1,
  author: { id: 'ada', name: 'Ada', karma: 3 },
  tags: [{ text: 'x', by: 'Ada' }],
  extra: true,
}

test.each([
  [
    'zod',
    z.object({
      a: z.number(),
      author: z.object({ id: z.string(), name: z.string() }),
      tags: z.array(z.object({ text: z.string() })),
    }),
  ],
  [
    'valibot',
    v.object({
      a: v.number(),
      author: v.object({ id: v.string(), name: v.string() }),
      tags: v.array(v.object({ text: v.string() })),
    }),
  ],
])('checked reads by %s hide unknown properties, which survive', async (_, schema) => {
  const store = await openStore()
  const things = defineKind('thing', { schema, checkReads: true }).in(store)
  const { id } = await store.put({ ...loose, _kind: 'thing' })
  const shown = { a: 1, author: { id: 'ada', name: 'Ada' }, tags: [{ text: 'x' }] }
  expect(await things.get(id)).toEqual({ ...shown, id, version: expect.any(Number) })
  await things.update(id, ({ author, tags }) => ({
    author: { ...author, name: 'Eve' },
    tags: [{ text: 'new' }, ...tags],
  }))
  expect(await store.get(id)).toEqual({
    ...loose,
    _kind: 'thing',
    id,
    author: { id: 'ada', name: 'Eve', karma: 3 },
    tags: [{ text: 'new' }, { text: 'x', by: 'Ada' }],
  })
})

test('an element that moves up gets nothing of the removed one, and another object nothing of the replaced one', async () => {
  const store = await openStore()
  const orders = defineKind('order', {
    schema: z.object({
      author: z.object({ id: z.string(), name: z.string() }),
      lines: z.array(z.object({ sku: z.string(), count: z.number() })),
    }),
  }).in(store)
  const [first, second] = [
    { sku: 'a', count: 1 },
    { sku: 'b', count: 2 },
  ]
  const { id } = await store.put({
    _kind: 'order',
    author: { id: 'ada', name: 'Ada', email: 'ada@example.com' },
    lines: [{ ...first!, discount: 10 }, second!],
  })
  await orders.update(id, { lines: [second!, { sku: 'c', count: 1 }] })
  await orders.update(id, { author: { id: 'bob', name: 'Bob' } })
  expect(await store.get(id)).toEqual({
    id,
    _kind: 'order',
    author: { id: 'bob', name: 'Bob' },
    lines: [second, { sku: 'c', count: 1 }],
  })
})

test('a checked read that does not fit is refused with the id', async () => {
  const store = await openStore()
  const things = defineKind('thing', { schema: z.object({ a: z.number() }), checkReads: true }).in(store)
  const { id } = await store.put({ a: 'x', _kind: 'thing' })
  await expect(things.get(id)).rejects.toMatchObject({ code: 'SCHEMA_MISMATCH', entity: id })
})

test('upgradeKinds writes old entities in the newest shape, and each once', async () => {
  const store = await openStore(Third)
  const people = First.in(store)
  for (let n = 0; n < 250; n++) await people.insert({ first: 'Ada', last: String(n) })
  await Third.in(store).insert({ name: 'new', email: null })
  await store.put({ first: 'not', last: 'one of them' })
  const all = { scanned: 252, upgraded: { person: 250 }, failed: [], complete: true }
  expect(await upgradeKinds(store, [Third], { dryRun: true })).toEqual(all)
  expect(await upgradeKinds(store, [Third])).toEqual(all)
  expect(await Third.in(store).byName.first({ name: 'Ada 249' })).toBeDefined()
  expect(await upgradeKinds(store, [Third])).toEqual({ ...all, upgraded: { person: 0 } })
})

test('upgradeKinds reports its progress', async () => {
  const store = await openStore(Third)
  await First.in(store).insertMany(Array.from({ length: 1_000 }, () => ({ first: 'Ada', last: 'L' })))
  const counts: number[] = []
  await upgradeKinds(store, [Third], { onProgress: ({ scanned }) => counts.push(scanned) })
  expect(counts).toEqual([1_000])
})

test('upgradeKinds lists entities that do not fit the schema, and upgrades the others', async () => {
  const store = await openStore()
  const Misspelt = defineKind('book', {
    schema: z.object({ name: z.string() }),
    upgrades: [
      ({ title, titel, ...others }) => ({ ...others, name: titel ?? (title === 'A' ? 'A' : undefined) }),
    ],
  })
  const books = await store.putMany(['A', 'B'].map((title) => ({ _kind: 'book', title })))
  const [, second] = books
  const result = await upgradeKinds(store, [Misspelt])
  expect(result).toMatchObject({
    upgraded: { book: 1 },
    failed: [{ error: { code: 'SCHEMA_MISMATCH' } }],
    complete: false,
  })
  const [failed] = result.failed
  expect(failed?.id).toBe(second!.id)
  expect(await store.get(failed!.id)).toEqual({ id: failed!.id, _kind: 'book', title: 'B' })
})

test('upgradeKinds skips entities that are deleted during the call, and refuses two kinds with the same name', async () => {
  const store = await openStore(Third)
  const { id } = await First.in(store).insert({ first: 'Ada', last: 'L' })
  const Deleting = defineKind('person', {
    schema: typed<object>(),
    upgrades: [
      (bag) => {
        void store.delete(id)
        return bag
      },
    ],
  })
  const { failed } = await upgradeKinds(store, [Deleting])
  expect(failed).toEqual([])
  await expect(upgradeKinds(store, [Third, Second])).rejects.toThrow(/Two kinds have the name person/)
})
