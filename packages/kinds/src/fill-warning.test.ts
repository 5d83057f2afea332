import { defineIndex } from '@looseleaf/index-engine'
import { expect, test } from 'vitest'
import { createFillWarning } from './fill-warning.ts'

test('a value that is not stored is told of once per store, with the indexes that have its property or one within it', () => {
  const properties = { place: { type: 'string', of: 'o.p' } } as const
  const indexes = [
    defineIndex('a', { properties, shardOn: 'place', include: ['x'] }),
    defineIndex('b', { properties, shardOn: 'place' }),
    defineIndex('c', { properties: { n: 'integer' }, shardOn: 'n' }),
  ]
  const warn = createFillWarning('note', () => indexes)
  const id = '0190a0b0-0000-7000-8000-000000000001'
  const told: string[] = []
  const onWarning = (message: string): void => {
    const [, name, names] = /without the value of "(.*)" that .* Index (.*) does not have it\./.exec(message)!
    told.push(`${name}: ${names}`)
  }
  warn(id, new Set(['z', 'p', 'place', 'o.p.q']), onWarning)
  expect(told).toEqual([])
  warn(id, new Set(['o']), onWarning)
  warn(id, new Set(['o', 'o.p', 'x', 'n']), onWarning)
  warn(id, new Set(['o', 'o.p', 'x', 'n']), onWarning)
  expect(told).toEqual(['o: a, b', 'o.p: a, b', 'x: a', 'n: c'])
  warn(id, new Set(['n']), (message) => onWarning(message))
  expect(told.at(-1)).toBe('n: c')
  expect(told).toHaveLength(5)
})
