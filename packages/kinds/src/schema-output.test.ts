import { describe, expect, test } from 'vitest'
import { addedNames, filledIn, knownPart, settled } from './schema-output.ts'

test('an array is filled in only if the schema keeps its length', () => {
  const stored = [{ a: 1 }]
  expect(filledIn(stored, [{ a: 1, b: 2 }])).toEqual([{ a: 1, b: 2 }])
  expect(filledIn(stored, [{ a: 1, b: 2 }, { a: 3 }])).toBe(stored)
})

describe('a stored value that is filled in', () => {
  test('a value to which the schema adds nothing is returned itself', () => {
    const stored = { a: 1, o: { b: 2 }, l: [{ c: 3 }, 4], at: new Date(0) }
    for (const output of [
      stored,
      structuredClone(stored),
      { a: 2, o: { b: 3 }, l: [{ c: 4 }, 5], d: undefined },
      { a: 1, l: [] },
      { a: { b: 1 }, o: [], l: {} },
      5,
    ])
      expect(filledIn(stored, output)).toBe(stored)
  })

  test('names that the schema adds are added, also within objects and elements, and nothing is mutated', () => {
    const stored = { a: 1, o: { x: 1 }, l: [{}, { c: 1 }], u: undefined }
    const before = structuredClone(stored)
    const tags: string[] = []
    const filled = filledIn(stored, {
      a: 7,
      o: { b: 2 },
      l: [{ c: 0 }, { c: 5 }],
      u: 3,
      tags,
    }) as typeof stored & {
      tags: string[]
    }
    expect(filled).toEqual({ a: 1, o: { x: 1, b: 2 }, l: [{ c: 0 }, { c: 1 }], u: 3, tags: [] })
    expect(filled.tags).not.toBe(tags)
    expect(filled.l[1]).toBe(stored.l[1])
    expect(stored).toEqual(before)
  })

  test('the added names have dots into objects, and nulls are left out', () => {
    const added = addedNames(
      { a: 1, o: { d: {} }, l: [{ b: 1 }, {}], u: undefined, t: 'text' },
      { a: 1, o: { d: { e: 1 }, n: null }, l: [{ b: 1, c: 1 }, { b: 2 }], u: 1, t: 'text', z: false },
    )
    expect([...added].toSorted()).toEqual(['l.b', 'l.c', 'o.d.e', 'u', 'z'])
    const same = { a: {} }
    expect(addedNames(same, same).size).toBe(0)
    expect(addedNames({ a: [] }, { a: { b: 1 } }).size).toBe(0)
  })
})

describe('the known part of a stored value', () => {
  test('a value with known names alone is returned itself', () => {
    const stored = { a: 1, o: { b: 2 }, l: [{ c: 3 }, 4], at: new Date(0) }
    expect(knownPart(stored, structuredClone(stored))).toBe(stored)
    expect(knownPart(stored, { ...stored, d: undefined })).toBe(stored)
    expect(knownPart(stored, 5)).toBe(stored)
    const list = [{ a: 1, x: 1 }]
    expect(knownPart(list, [])).toBe(list)
    expect(knownPart(list, { 0: 1 })).toBe(list)
  })

  test('names that the schema leaves out are missing, and its defaults are there', () => {
    const tags: string[] = []
    const stored = { a: 1, x: 1, o: { b: 2, x: 1 }, l: [{ c: 3, x: 1 }, { c: 4 }] }
    const known = knownPart(stored, { a: 7, o: { b: 2 }, l: [{ c: 0 }, { c: 4 }], tags }) as {
      tags: string[]
    }
    expect(known).toEqual({ a: 1, o: { b: 2 }, l: [{ c: 3 }, { c: 4 }], tags: [] })
    expect(known.tags).not.toBe(tags)
  })
})

describe('the value to store', () => {
  const once = (given: unknown): unknown =>
    Array.isArray(given) ? given.map(once) : typeof given === 'string' ? `H(${given})` : given
  const store = (stored: unknown, given: unknown, mayBeOutput = false): unknown =>
    settled(stored, { given, once: once(given), twice: once(once(given)), mayBeOutput }, 'The user')

  test('an element that is stored stays, in any order, and a new one becomes its output', () => {
    expect(store(['H(a)', 'H(b)'], ['c', 'H(b)', 'H(a)'])).toEqual(['H(c)', 'H(b)', 'H(a)'])
    expect(store(undefined, ['a', 1])).toEqual(['H(a)', 1])
    expect(store({ 0: 'a' }, ['a'])).toEqual(['H(a)'])
  })

  test('a value in the place of one of another type is new', () => {
    const given = { p: 'x' }
    const outputs = { given, once: { p: 'H(x)' }, twice: { p: 'H(H(x))' }, mayBeOutput: false }
    expect(settled('x', outputs, 'The user')).toEqual({ p: 'H(x)' })
    expect(settled({ p: 'x' }, outputs, 'The user')).toEqual({ p: 'x' })
  })

  test('a value that may be an output already is refused with its path, as a whole too', () => {
    expect(() => store(['H(a)'], ['b'], true)).toThrow(
      /^The user is not written: 0: the schema changes this value each time/,
    )
    expect(() => store('H(a)', 'b', true)).toThrow(/is not written: the whole: the schema/)
    expect(store('H(a)', 'H(a)', true)).toBe('H(a)')
  })

  test('a part that the schema adds is its first output, and a list that it cuts is new as a whole', () => {
    const added = { given: {}, once: { p: 'H()' }, twice: { p: 'H(H())' }, mayBeOutput: true }
    expect(settled({}, added, 'The user')).toEqual({ p: 'H()' })
    const cut = { given: ['a', 'b'], once: ['H(a)'], twice: ['H(H(a))'] }
    expect(settled(['a'], { ...cut, mayBeOutput: false }, 'The user')).toEqual(['H(a)'])
    expect(() => settled(['a'], { ...cut, mayBeOutput: true }, 'The user')).toThrow('the whole')
  })
})
