import type { Bag } from '@looseleaf/core'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineKind, unset } from '../src/index.ts'
import { openStore } from './issues.ts'

const visitor = z.object({ id: z.string(), name: z.string(), note: z.string().optional() })
const Visit = defineKind('visit', {
  schema: z.object({
    client: z.string(),
    phone: z.string().min(5),
    note: z.string().optional(),
    host: z.object({ name: z.string() }).optional(),
    visitor: visitor.optional(),
    guests: z.array(visitor).optional(),
  }),
  indexes: { byClient: { by: [{ client: 'string' }] } },
})

/** Stores a bag that does not fit, and returns it as it is after a repair. */
async function repaired(bag: Bag, patch: object | ((visit: object) => object)): Promise<unknown> {
  const store = await openStore(Visit)
  const { id } = await store.put({ _kind: 'visit', client: 'Ada', ...bag })
  await Visit.in(store).update(id, patch as { phone: string })
  const { id: _, _kind, client: __, ...stored } = (await store.get(id))!
  return stored
}

const phone = '123456'

test.each([
  ['is missing', {}],
  ['is null', { phone: null }],
  ['is too short', { phone: '1' }],
])('an update keeps unknown properties of an entity in which a required property %s', async (_, bag) => {
  expect(await repaired({ ...bag, place: 'R1' }, { phone })).toEqual({ phone, place: 'R1' })
  expect(await repaired({ ...bag, place: 'R1' }, () => ({ phone }))).toEqual({ phone, place: 'R1' })
})

test('updateWhere keeps unknown properties of an entity that does not fit the schema', async () => {
  const store = await openStore(Visit)
  const { id } = await store.put({ _kind: 'visit', client: 'Ada', place: 'R1' })
  await Visit.in(store).byClient.updateWhere({ client: 'Ada' }, { phone })
  expect(await store.get(id)).toEqual({ id, _kind: 'visit', client: 'Ada', phone, place: 'R1' })
})

test.each<[string, Bag, object, object]>([
  [
    'an object that the patch leaves',
    { visitor: { id: 'i', name: 'Bo', badge: 7 } },
    { phone },
    { phone, visitor: { id: 'i', name: 'Bo', badge: 7 } },
  ],
  [
    'an object with the same id that the patch changes',
    { phone, visitor: { id: 'i', badge: 7 } },
    { visitor: { id: 'i', name: 'Bo' } },
    { phone, visitor: { id: 'i', name: 'Bo', badge: 7 } },
  ],
  [
    'an object without an id and with equal known values',
    { host: { name: 'Cy', desk: 3 } },
    { phone, host: { name: 'Cy' } },
    { phone, host: { name: 'Cy', desk: 3 } },
  ],
  [
    'elements that have moved',
    {
      guests: [
        { id: 'a', name: 'A', badge: 1 },
        { id: 'b', name: 'B', badge: 2 },
      ],
    },
    {
      phone,
      guests: [
        { id: 'b', name: 'Bo' },
        { id: 'c', name: 'C' },
      ],
    },
    {
      phone,
      guests: [
        { id: 'b', name: 'Bo', badge: 2 },
        { id: 'c', name: 'C' },
      ],
    },
  ],
])('a repair keeps unknown properties of %s', async (_, bag, patch, expected) => {
  expect(await repaired(bag, patch)).toEqual(expected)
})

test('a repair removes known properties as it says, and gives no other object unknown ones', async () => {
  const note = 'old'
  expect(await repaired({ note, place: 'R1' }, { phone, note: unset })).toEqual({ phone, place: 'R1' })
  const bag = { visitor: { id: 'i', name: 'Bo', note, badge: 7 } }
  expect(await repaired(bag, { phone, visitor: { id: 'i', name: 'Bo' } })).toEqual({
    phone,
    visitor: { id: 'i', name: 'Bo', badge: 7 },
  })
  expect(await repaired(bag, { phone, visitor: { id: 'j', name: 'Di' } })).toEqual({
    phone,
    visitor: { id: 'j', name: 'Di' },
  })
  expect(await repaired({ misspelt: 0 }, { phone, misspelt: 1 })).toEqual({ phone, misspelt: 1 })
})
