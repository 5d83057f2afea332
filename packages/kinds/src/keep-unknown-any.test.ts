import fc from 'fast-check'
import { expect, test } from 'vitest'
import { applyPatch, unknownOf, withUnknown } from './keep-unknown.ts'

type Properties = Record<string, unknown>

/** What a schema gives that knows all names but those with an x. */
function fit(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(fit)
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  const known = Object.entries(value).filter(([name]) => !name.startsWith('x'))
  return Object.fromEntries(known.map(([name, one]) => [name, fit(one)]))
}

const update = (stored: Properties, patch: Properties): unknown => {
  const known = fit(stored) as Properties
  const full = applyPatch(stored, known, patch)
  return withUnknown(unknownOf(stored, known), full, fit(full))
}

const { value, properties } = fc.letrec<{ value: unknown; properties: Properties }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.integer({ min: 0, max: 2 }),
    fc.constantFrom(null, 'text', new Date(0)),
    fc.array(tie('value'), { maxLength: 3 }),
    tie('properties'),
  ),
  properties: fc.dictionary(fc.constantFrom('a', 'b', 'c', 'x', 'xy', 'constructor'), tie('value'), {
    maxKeys: 4,
  }),
}))

test('whatever is stored, a change beside it leaves it as it is, known and unknown', () => {
  fc.assert(
    fc.property(properties, value, (stored, changed) => {
      const expected = { ...stored, n: fit(changed) }
      expect(update({ ...stored, n: 0 }, { n: changed })).toEqual(expected)
    }),
    { numRuns: 500 },
  )
})

test('what is given back as it was shown is as it was stored', () => {
  fc.assert(
    fc.property(properties, (stored) => {
      expect(update(stored, fit(stored) as Properties)).toEqual(stored)
    }),
    { numRuns: 500 },
  )
})

test('elements keep what is unknown of them in whatever order they are given, and new ones get nothing', () => {
  const element = fc.record({ a: fc.uuid(), x: value, o: fc.record({ b: value, x: value }) })
  fc.assert(
    fc.property(
      fc.array(element, { maxLength: 6 }),
      fc.infiniteStream(fc.nat()),
      fc.uuid(),
      (list, order, added) => {
        // Those that are unlike others as they are shown.
        const moved = list
          .map((item) => ({ item, at: order.next().value }))
          .toSorted((one, other) => Number(one.at) - Number(other.at))
          .map(({ item }) => item)
        const shown = moved.map((item) => fit(item))
        const before = update({ list }, { list: [...shown, { a: added }] })
        // Behind the end nobody stood.
        expect(before).toEqual({ list: [...moved, { a: added }] })
      },
    ),
    { numRuns: 300 },
  )
})

test('unknown data is found in the thing that it was stored with, or nowhere', () => {
  const thing = fc.record({ id: fc.option(fc.nat(3), { nil: undefined }), a: fc.nat(1), b: fc.nat(1) })
  const marked = fc.array(thing, { maxLength: 5 }).map((things) =>
    // Each thing has unknown data that says which one it is.
    things.map((one, i) => ({ ...one, x: `${JSON.stringify(one)} ${i}` })),
  )
  fc.assert(
    fc.property(marked, fc.array(thing, { maxLength: 5 }), (list, given) => {
      const { list: now } = update({ list }, { list: given }) as { list: Properties[] }
      const kept = now.flatMap(({ x }) => (x === undefined ? [] : [String(x)]))
      expect(new Set(kept).size).toBe(kept.length)
      for (const { x, ...known } of now) {
        if (x === undefined) continue
        const before = list.find((one) => one.x === x)!
        if (known['id'] === undefined) expect(JSON.stringify(known)).toBe(String(x).slice(0, -2))
        expect(known['id']).toBe(before.id)
      }
    }),
    { numRuns: 1_000 },
  )
})
