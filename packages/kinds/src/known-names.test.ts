import { expect, test } from 'vitest'
import { createKnownNames } from './known-names.ts'

test('a bag with every noted name needs no schema, until a schema has more than 1,000 names', () => {
  const names = createKnownNames()
  expect(names.isComplete({ a: 1 })).toBe(false)
  names.note({ a: 1, x: 1 }, { a: 1, b: 2 })
  expect(names.isComplete({ a: 1, b: 1, x: 1 })).toBe(true)
  expect(names.isComplete({ a: 1 })).toBe(false)
  expect(names.isComplete({ a: 1, b: 1, y: 1 })).toBe(false)
  const many = Object.fromEntries(Array.from({ length: 1_001 }, (_, n) => [`n${n}`, n]))
  names.note(many, many)
  expect(names.isComplete({ a: 1, b: 1, ...many })).toBe(false)
})

test('names within objects and elements have to be there as well', () => {
  const names = createKnownNames()
  names.note({ o: {}, l: [{ x: 1 }, 5, null], v: 1 }, { o: { a: 1 }, l: [{ a: 1 }, 5, null], v: 1 })
  const whole = { o: { a: 1 }, l: [{ a: 1, x: 1 }, 7, null, 'text'], v: 2 }
  const complete: readonly object[] = [
    whole,
    { ...whole, o: null, l: null },
    { ...whole, o: 5, l: [] },
    { ...whole, o: new Date(0) },
    { ...whole, v: [1, null] },
    { ...whole, l: [[{ a: 1 }]] },
  ]
  expect(complete.map((bag) => names.isComplete(bag))).toEqual(complete.map(() => true))
  const incomplete: readonly object[] = [
    { ...whole, o: {} },
    { ...whole, o: { a: 1, x: 1 } },
    { ...whole, l: [{ a: 1 }, {}] },
    { ...whole, l: [{ a: 1, y: 1 }] },
    // Names of objects under this name are unknown.
    { ...whole, v: {} },
    { ...whole, v: [{}] },
  ]
  expect(incomplete.map((bag) => names.isComplete(bag))).toEqual(incomplete.map(() => false))
})

test('a name that the schema leaves out is known, until an output has it', () => {
  const names = createKnownNames()
  names.note({ a: 1, x: 1, y: 1 }, { a: 1, b: undefined, y: undefined })
  expect([{ a: 1 }, { a: 1, x: 1 }].map((bag) => names.isComplete(bag))).toEqual([true, true])
  expect(names.isComplete({ a: 1, y: 1 })).toBe(false)
  names.note({ a: 1, x: 1 }, { a: 1, x: 1 })
  expect([{ a: 1 }, { a: 1, x: 1 }].map((bag) => names.isComplete(bag))).toEqual([false, true])
  names.note({ a: 1 }, { a: 1 })
  expect(names.isComplete({ a: 1 })).toBe(false)
})

test('the names of elements that the schema has cut or made are not known as left out', () => {
  const names = createKnownNames()
  names.note({ l: [{ x: 1 }, { x: 2 }] }, { l: [{ a: 1 }] })
  names.note({ l: { 0: { x: 1 }, length: 1 } }, { l: [{ a: 1 }] })
  expect(names.isComplete({ l: [{ a: 1 }] })).toBe(true)
  expect(names.isComplete({ l: [{ a: 1, x: 1 }] })).toBe(false)
})

test.each([
  [1_000, true],
  [1_001, false],
])('a check without the schema is possible with %i names, known or left out: %s', (count, isPossible) => {
  const named = (from: number, to: number): Record<string, number> =>
    Object.fromEntries(Array.from({ length: to - from }, (_, n) => [`n${from + n}`, n]))
  const names = createKnownNames()
  const all = named(0, count)
  names.note(all, named(0, 500))
  expect(names.isComplete(all)).toBe(isPossible)
  // Later names are not noted.
  if (!isPossible) names.note({ z: 1 }, { z: 1 })
  expect(names.isComplete(all)).toBe(isPossible)
})
