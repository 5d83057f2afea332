import { expect, test } from 'vitest'
import { defineKey } from '../definitions/key-functions.ts'
import { nearKeyOf } from './near-property.ts'

const ID = '0192f0c1-7c1e-7abc-8def-0123456789ab'

test.each([
  ['string', 'acme'],
  ['integer', 7],
  ['uuid', ID],
  ['time', new Date(1)],
  ['boolean', false],
] as const)('a value of the type %s is its own key', (type, value) => {
  expect(nearKeyOf({ name: 'p', type }, { p: value, type: 'other' })).toEqual({ [type]: value })
})

test('the key comes from the path of the property, and from its name without a path', () => {
  const bag = { team: 'name', owner: { team: 'path' } }
  expect(nearKeyOf({ name: 'team', of: 'owner.team', type: 'string' }, bag)).toEqual({ string: 'path' })
  expect(nearKeyOf({ name: 'team', type: 'string' }, bag)).toEqual({ string: 'name' })
})

test.each([{}, { p: undefined }, { p: null }])('the bag %j has no key', (bag) => {
  expect(nearKeyOf({ name: 'p', type: 'string' }, bag)).toBeUndefined()
})

test('a value of another type has the reason and no key, also for a property with a key function', () => {
  const misfit = { misfit: 'a string is expected, got a number' }
  expect(nearKeyOf({ name: 'p', type: 'string' }, { p: 5 })).toEqual(misfit)
  expect(nearKeyOf({ name: 'p', type: 'string', key: 'lower' }, { p: 5 })).toEqual(misfit)
})

test('a key function gives the key under the type of its result', () => {
  expect(nearKeyOf({ name: 'p', type: 'string', key: 'lower' }, { p: 'AcMe' })).toEqual({ string: 'acme' })
  const { uuid } = nearKeyOf({ name: 'p', type: 'string', key: 'hash' }, { p: 'acme' }) as { uuid: string }
  expect(uuid).toMatch(/^[0-9a-f-]{36}$/)
})

test('a value without a key by its key function has the reason, without the value', () => {
  expect(nearKeyOf({ name: 'p', type: 'string', key: 'host' }, { p: 'no host' })).toEqual({
    misfit: 'a URL with a host, or a host name is expected',
  })
  const { name: half } = defineKey({
    name: 'half_of_near',
    version: 1,
    from: 'integer',
    derive(value) {
      if (value === 7) throw new Error('7 is odd')
      return value === 8 ? undefined : Number(value) / 2
    },
  })
  const property = { name: 'p', type: 'integer', key: half } as const
  expect(nearKeyOf(property, { p: 4 })).toEqual({ integer: 2 })
  expect(nearKeyOf(property, { p: 7 })).toEqual({ misfit: `the function of the key ${half} threw` })
  expect(nearKeyOf(property, { p: 8 })).toEqual({
    misfit: expect.stringMatching(/is expected, got nothing$/),
  })
})
