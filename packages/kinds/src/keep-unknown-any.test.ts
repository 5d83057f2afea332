import fc from 'fast-check'
import { runsOf } from '@looseleaf-tooling/vitest/long'
import { expect, test } from 'vitest'
import { applyPatch, unknownOf, withUnknown } from './keep-unknown.ts'

type Properties = Record<string, unknown>

/** The output of a schema that knows every name that does not begin with x. */
function fit(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(fit)
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  const known = Object.entries(value).filter(([name]) => !name.startsWith('x'))
  return Object.fromEntries(known.map(([name, property]) => [name, fit(property)]))
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

test('a patch keeps all other properties, known and unknown', () => {
  fc.assert(
    fc.property(properties, value, (stored, changed) => {
      const expected = { ...stored, n: fit(changed) }
      expect(update({ ...stored, n: 0 }, { n: changed })).toEqual(expected)
    }),
    { numRuns: runsOf(500) },
  )
})

test('a patch with the shown values stores the same bag', () => {
  fc.assert(
    fc.property(properties, (stored) => {
      expect(update(stored, fit(stored) as Properties)).toEqual(stored)
    }),
    { numRuns: runsOf(500) },
  )
})

test('elements keep their unknown properties in any order, and new elements get none', () => {
  const element = fc.record({ a: fc.uuid(), x: value, o: fc.record({ b: value, x: value }) })
  fc.assert(
    fc.property(
      fc.array(element, { maxLength: 6 }),
      fc.infiniteStream(fc.nat()),
      fc.uuid(),
      (list, order, added) => {
        const moved = list
          .map((item) => ({ item, at: order.next().value }))
          .toSorted((a, b) => Number(a.at) - Number(b.at))
          .map(({ item }) => item)
        const shown = moved.map((item) => fit(item))
        const after = update({ list }, { list: [...shown, { a: added }] })
        expect(after).toEqual({ list: [...moved, { a: added }] })
      },
    ),
    { numRuns: runsOf(300) },
  )
})

test('an unknown property stays in its object, or disappears', () => {
  const thing = fc.record({ id: fc.option(fc.nat(3), { nil: undefined }), a: fc.nat(1), b: fc.nat(1) })
  const marked = fc.array(thing, { maxLength: 5 }).map((things) =>
    // The unknown property x identifies the object that it was stored with.
    things.map((each, i) => ({ ...each, x: `${JSON.stringify(each)} ${i}` })),
  )
  fc.assert(
    fc.property(marked, fc.array(thing, { maxLength: 5 }), (list, given) => {
      const { list: now } = update({ list }, { list: given }) as { list: Properties[] }
      const kept = now.flatMap(({ x }) => (x === undefined ? [] : [String(x)]))
      expect(new Set(kept).size).toBe(kept.length)
      for (const { x, ...known } of now) {
        if (x === undefined) continue
        const before = list.find((each) => each.x === x)!
        if (known['id'] === undefined) expect(JSON.stringify(known)).toBe(String(x).slice(0, -2))
        expect(known['id']).toBe(before.id)
      }
    }),
    { numRuns: runsOf(1_000) },
  )
})
