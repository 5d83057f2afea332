import { expect, test } from 'vitest'
import * as v from 'valibot'
import { z } from 'zod'
import { defineKind, type Schema } from '../src/index.ts'
import { openStore } from './issues.ts'

interface Sized {
  name: string
  size: string
}

const hash = (text: string): string => `H(${text})`
const User = defineKind('user', {
  schema: z.object({ name: z.string(), password: z.string().transform(hash) }),
})
const Order = defineKind('order', {
  schema: z.object({
    note: z.string(),
    lines: z.array(z.object({ sku: z.string(), price: z.number().transform((euros) => euros * 100) })),
  }),
})

test('a schema that changes its own output is applied once to each value', async () => {
  const users = User.in(await openStore())
  const { id, password } = await users.insert({ name: 'a', password: 'x' })
  expect(password).toBe('H(x)')
  await users.update(id, { name: 'b' })
  await users.update(id, ({ name }) => ({ name: `${name}!` }))
  await users.upsert(id, { name: 'c', password: 'y' }, { name: 'c' })
  const read = await users.get(id)
  expect(read).toMatchObject({ name: 'c', password: 'H(x)' })
  // An item has the stored password.
  await users.put({ ...read!, name: 'd' })
  await users.update(id, { ...(await users.get(id))!, name: 'e' })
  await users.put({ name: 'f', password: 'H(x)' }, { id })
  expect(await users.get(id)).toMatchObject({ name: 'f', password: 'H(x)' })
  expect(await users.update(id, { password: 'y' })).toMatchObject({ password: 'H(y)' })
  expect(await users.put({ name: 'g', password: 'z' }, { id })).toMatchObject({ password: 'H(z)' })
})

test('stored elements are not changed again beside a new one', async () => {
  const orders = Order.in(await openStore())
  const { id, lines } = await orders.insert({
    note: '',
    lines: [
      { sku: 'a', price: 1 },
      { sku: 'b', price: 2 },
    ],
  })
  await orders.update(id, { lines: [{ sku: 'c', price: 3 }, ...lines.toReversed()] })
  expect((await orders.get(id))!.lines).toEqual([
    { sku: 'c', price: 300 },
    { sku: 'b', price: 200 },
    { sku: 'a', price: 100 },
  ])
})

test('a value that may be an output already is refused with its path, and nothing is written', async () => {
  const store = await openStore()
  const orders = Order.in(store)
  const item = await orders.insert({ note: '', lines: [{ sku: 'a', price: 1 }] })
  const refused = {
    code: 'SCHEMA_MISMATCH',
    issues: [{ path: ['lines', 0, 'price'], message: expect.any(String) }],
  }
  const dearer = ({ lines }: typeof item): Pick<typeof item, 'lines'> => ({
    lines: lines.map(({ sku, price }) => ({ sku, price: price + 1 })),
  })
  await expect(orders.update(item.id, (now) => dearer({ ...item, ...now }))).rejects.toMatchObject({
    ...refused,
    message: expect.stringMatching(
      /^The order [0-9a-f-]+ is not written: lines\.0\.price: the schema changes/,
    ),
  })
  await expect(orders.put({ ...item, ...dearer(item) })).rejects.toMatchObject(refused)
  await expect(orders.update(item.id, { ...item, ...dearer(item) })).rejects.toMatchObject(refused)
  const { id: _, ...copy } = item
  await expect(orders.insert({ ...copy }, { id: store.newId() })).rejects.toMatchObject({
    code: 'BAD_OPTION',
  })
  await expect(orders.insert(item, { id: store.newId() })).rejects.toMatchObject(refused)
  await expect(orders.upsert(store.newId(), item, { note: 'x' })).rejects.toMatchObject(refused)
  const line = { _kind: 'order', note: '', lines: [{ sku: 'a', price: 100 }] }
  expect(() => Order.shape.taken(line, undefined)).toThrow(/lines\.0\.price: the schema changes this value/)
  expect(await orders.get(item.id)).toEqual(item)
})

test('a value whose output the schema refuses is refused at once, with the property', async () => {
  const store = await openStore()
  const schema = z.object({ name: z.string(), size: z.string().transform(Number) })
  const things = defineKind('thing', { schema: schema as unknown as Schema<Sized, Sized> }).in(store)
  for (const call of [
    () => things.insert({ name: 'a', size: '5' }),
    () => things.put({ name: 'a', size: '5' }, { id: store.newId() }),
  ]) {
    await expect(call()).rejects.toMatchObject({
      code: 'SCHEMA_MISMATCH',
      issues: [{ path: ['size'] }],
      message: expect.stringMatching(
        /^The thing( [0-9a-f-]+)? is not written: its schema refuses its own output, and so would every later update: size: /,
      ),
    })
  }
  const short = defineKind('short', { schema: z.object({ code: z.string().min(3).default('') }) }).in(store)
  await expect(short.insert({})).rejects.toMatchObject({ issues: [{ path: ['code'] }] })
  expect((await store.status()).shards.reduce((sum, { entities = 0 }) => sum + entities, 0)).toBe(0)
})

test('a property that the schema derives follows its source, beside one that the schema would change again', async () => {
  const store = await openStore()
  const pages = defineKind('page', {
    schema: z
      .object({ title: z.string(), slug: z.string().optional(), views: z.number() })
      .transform(({ title, views }) => ({ title, slug: title.toLowerCase(), views: views + 1 })),
  }).in(store)
  const { id } = await pages.insert({ title: 'A', views: 0 })
  expect(await pages.update(id, { title: 'B' })).toMatchObject({ slug: 'b', views: 1 })
})

test.each([
  ['zod', z.object({ n: z.number(), price: z.number().transform((x) => x * 100) })],
  [
    'valibot',
    v.object({
      n: v.number(),
      price: v.pipe(
        v.number(),
        v.transform((x) => x * 100),
      ),
    }),
  ],
])('a checked read by %s returns stored values unchanged', async (_, schema) => {
  const store = await openStore()
  const items = defineKind('item', { schema, checkReads: true }).in(store)
  const item = await items.insert({ n: 1, price: 1 })
  expect(item.price).toBe(100)
  expect((await items.get(item.id))!.price).toBe(100)
  expect((await items.update(item.id, ({ n }) => ({ n: n + 1 }))).price).toBe(100)
  expect((await store.get(item.id))!['price']).toBe(100)
})

test('a checked read returns the output for a value that another program has stored', async () => {
  const store = await openStore()
  const schema = z.object({ at: z.coerce.date() })
  const { id } = await store.put({ _kind: 'event', at: '2026-01-01' })
  const checked = defineKind('event', { schema, checkReads: true }).in(store)
  expect(await checked.get(id)).toMatchObject({ at: new Date('2026-01-01') })
})
