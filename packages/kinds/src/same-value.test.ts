import fc from 'fast-check'
import { runsOf } from '@looseleaf-tooling/vitest/long'
import { expect, test } from 'vitest'
import { copied, keyOf, sameValue, valueOf } from './same-value.ts'

const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom<unknown>(null, undefined, 0, -0, 1, 12, Number.NaN, 1n, true, false, '', '1', '12', 'a'),
    fc.constantFrom(0, 1).map((time) => new Date(time)),
    fc.uint8Array({ maxLength: 1, max: 1 }),
    fc.array(tie('value'), { maxLength: 2 }),
    fc.dictionary(fc.constantFrom('a', 'b', '1'), tie('value'), { maxKeys: 2 }),
  ),
}))

test('two values of bags have the same text exactly if they are equal in storage', () => {
  fc.assert(
    fc.property(value, value, (a, b) => {
      expect(keyOf(a) === keyOf(b)).toBe(sameValue(a, b))
      expect(sameValue(b, a)).toBe(sameValue(a, b))
    }),
    { numRuns: runsOf(3_000) },
  )
})

test('a copy is equal in storage, also with its names in another order', () => {
  fc.assert(
    fc.property(value, (given) => {
      expect(sameValue(copied(given), given)).toBe(true)
      expect(keyOf(copied(given))).toBe(keyOf(given))
    }),
    { numRuns: runsOf(500) },
  )
  const [one, other] = [
    { a: 1, b: [{ c: 2, d: 3 }] },
    { b: [{ d: 3, c: 2, e: undefined }], a: 1 },
  ]
  expect([sameValue(one, other), keyOf(one) === keyOf(other)]).toEqual([true, true])
})

test.each<[unknown, unknown]>([
  [{ a: 1 }, { b: 1 }],
  [{ a: undefined }, { b: 1 }],
  [{ a: 1 }, { a: 1, b: 2 }],
  [{ valueOf: 1 }, {}],
  [{}, { valueOf: 1 }],
  [[1], { 0: 1 }],
  [[], {}],
  [[1], [1, undefined]],
  [new Date(0), 0],
  [new Date(0), {}],
  [{}, new Date(0)],
  [new Date(0), new Uint8Array()],
  [new Uint8Array([1]), new Uint8Array([2])],
  [new Uint8Array([1]), { 0: 1 }],
  [new Map(), new Map()],
  [null, {}],
  [{}, null],
  ['1', 1],
  [['a', 'b'], ['ab']],
  [['1:a'], ['1', 'a']],
])('%o and %o are not equal in storage', (a, b) => {
  expect([sameValue(a, b), sameValue(b, a), keyOf(a) === keyOf(b)]).toEqual([false, false, false])
})

test('a name of Object.prototype is no own property', () => {
  expect([valueOf({}, 'valueOf'), valueOf({ valueOf: 1 }, 'valueOf')]).toEqual([undefined, 1])
})

test('a copy shares nothing that a caller may change, down to its depth, and things of other classes', () => {
  const map = new Map()
  const given = { at: new Date(0), list: [{ n: 1 }], map }
  const copy = copied(given) as typeof given
  expect(copy).toEqual(given)
  expect([copy.at === given.at, copy.list === given.list, copy.list[0] === given.list[0]]).toEqual([
    false,
    false,
    false,
  ])
  expect(copy.map).toBe(map)
  const shallow = copied(given, 2) as typeof given
  expect([shallow.list === given.list, shallow.list[0] === given.list[0]]).toEqual([false, true])
  expect(copied(given, 0)).toBe(given)
  expect(copied(given.at, 0)).not.toBe(given.at)
})
