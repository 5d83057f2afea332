import type { Bag, EntityId } from '@looseleaf/core'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { countNear, defineKind, typed, upgradeKinds, type Schema } from '../src/index.ts'
import { openStore } from './issues.ts'

/* Bags in old, new and damaged shapes, as programs of several versions store them. */

const Person = defineKind('person', {
  schema: z.object({ name: z.string(), age: z.number().default(0) }),
  upgrades: [({ first, ...others }: Bag): Bag => ({ ...others, name: first! })],
})
const id = '0190a0b0-0000-7000-8000-000000000001' as EntityId

test('a bag from elsewhere is taken with its defaults and unknown names, an older one as it is, and no newer one', () => {
  const { shape } = Person
  const stored = { _kind: 'person', _version: 1 }
  expect(shape.taken({ ...stored, name: 'Ada', extra: 1 }, id)).toEqual({
    ...stored,
    name: 'Ada',
    age: 0,
    extra: 1,
  })
  const old = { _kind: 'person', first: 'Ada' }
  expect(shape.taken(old, id)).toBe(old)
  const mismatch = { code: 'SCHEMA_MISMATCH', entity: id }
  const newer = { ...stored, _version: 2, name: 'Ada' }
  for (const bag of [{ _kind: 'person', first: 1 }, { ...stored, name: 1 }, newer])
    expect(() => shape.taken(bag, id)).toThrow(expect.objectContaining(mismatch))
})

test('an upgrade of all entities leaves those of a newer program alone, and lists those that fit no schema', async () => {
  const store = await openStore(Person)
  const bags = [
    { first: 'Ada' },
    { _version: 'x', first: 'Bob' },
    { _version: 1, name: 'Eve', age: 1 },
    { _version: 2, title: 'Dr.' },
    { _version: 1, name: 7, age: 1 },
  ]
  const ids = (await store.putMany(bags.map((bag) => ({ ...bag, _kind: 'person' })))).map((put) => put.id)
  const { upgraded, failed } = await upgradeKinds(store, [Person])
  expect([upgraded, failed.map((failure) => failure.id)]).toEqual([{ person: 2 }, [ids[4]]])
  const people = Person.in(store)
  expect(await people.get(ids[1]!)).toMatchObject({ name: 'Bob', age: 0 })
  expect(await people.get(ids[3]!)).toMatchObject({ title: 'Dr.' })
})

test('an entity in the shape of a kind without upgrades that fits no schema is listed as failed', async () => {
  const Strict = defineKind('strict', { schema: z.object({ n: z.number() }) })
  const store = await openStore(Strict)
  const { id: bad } = await store.put({ _kind: 'strict', n: 'x' })
  await store.put({ _kind: 'strict', n: 1 })
  const { upgraded, failed } = await upgradeKinds(store, [Strict])
  expect([upgraded, failed.map((failure) => failure.id)]).toEqual([{ strict: 0 }, [bad]])
})

test.each([
  ['null', (): Bag => null as unknown as Bag],
  ['a text', (): Bag => 'bag' as unknown as Bag],
  ['a promise that rejects', (): Bag => Promise.reject(new Error('async')) as unknown as Bag],
])('an upgrade that returns %s is refused', async (_, upgrade) => {
  const Thing = defineKind('thing', { schema: typed<object>(), upgrades: [upgrade] })
  const store = await openStore(Thing)
  const { id: of } = await store.put({ _kind: 'thing' })
  await expect(Thing.in(store).get(of)).rejects.toThrow(
    'its upgrade has to return the new bag synchronously.',
  )
  // An unhandled rejection would fail this run.
  await new Promise((resolve) => setImmediate(resolve))
})

test('checked reads hide unknown properties each time, and give no caller the object of another', async () => {
  const store = await openStore()
  const hiding = defineKind('hiding', { schema: z.object({ a: z.number() }), checkReads: true }).in(store)
  const { id: of } = await store.put({ _kind: 'hiding', a: 1, extra: true })
  for (let times = 0; times < 3; times++) expect(await hiding.get(of)).not.toHaveProperty('extra')
  const shared = { a: 1 }
  const schema: Schema<{ a: number }, { a: number }> = {
    '~standard': { version: 1, vendor: 'test', validate: () => ({ value: shared }) },
  }
  const sharing = defineKind('sharing', { schema, checkReads: true }).in(store)
  const [one, two] = await Promise.all([1, 2].map(() => store.put({ _kind: 'sharing', a: 1 })))
  const items = await sharing.getMany([one!.id, two!.id])
  expect(items.map((item) => item?.id)).toEqual([one!.id, two!.id])
  expect(shared).toEqual({ a: 1 })
})

test('countNear tells its progress after every thousand entities', async () => {
  const Plain = defineKind('plain', { schema: typed<{ n: number }>() })
  const store = await openStore(Plain)
  await Plain.in(store).insertMany(Array.from({ length: 1_001 }, (_, n) => ({ n })))
  const counts: number[] = []
  const onProgress = (scanned: number): void => void counts.push(scanned)
  expect(await countNear(store, [Plain], { onProgress })).toMatchObject({ scanned: 1_001 })
  expect(counts).toEqual([1_000])
})
