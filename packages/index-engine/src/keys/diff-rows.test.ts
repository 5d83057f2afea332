import type { Bag } from '@looseleaf/core'
import type { Key } from '@looseleaf/core/internal'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { defineIndex } from '../definitions/define-index.ts'
import { keyIdentity } from './key-identity.ts'
import { deriveRows } from './derive-rows.ts'
import { diffRows } from './diff-rows.ts'

const byTag = defineIndex('by_tag', { properties: { tags: 'string[]', rank: 'integer' }, shardOn: 'id' })
const bagArbitrary: fc.Arbitrary<Bag | undefined> = fc.option(
  fc.record({
    tags: fc.array(fc.constantFrom('a', 'b', 'c', 'd', null, 5)),
    rank: fc.constantFrom(1, 2, null),
  }),
  { nil: undefined },
)
const setOf = (keys: ReturnType<typeof deriveRows>['keys']): Set<string> => new Set(keys.map(keyIdentity))
const without = (a: ReadonlySet<string>, b: ReadonlySet<string>): Set<string> =>
  new Set([...a].filter((identity) => !b.has(identity)))
const keysOf = (bag: Bag | undefined): readonly Key[] =>
  bag === undefined ? [] : deriveRows(byTag, bag).keys
const rowsOf = (bag: Bag | undefined): Set<string> => setOf(keysOf(bag))

describe('diffRows', () => {
  it('a write gains the new keys, loses the old ones, and leaves the common ones', () => {
    fc.assert(
      fc.property(bagArbitrary, bagArbitrary, (before, after) => {
        const { gained, lost } = diffRows(byTag, keysOf(before), after)
        const [old, now] = [rowsOf(before), rowsOf(after)]
        expect(setOf(gained)).toEqual(without(now, old))
        expect(setOf(lost)).toEqual(without(old, now))
        expect(gained.length + lost.length).toBe(setOf(gained).size + setOf(lost).size)
      }),
    )
  })

  it('diffRows reports the misfits of the new bag only', () => {
    const bad = { tags: [5], rank: 1 }
    expect(diffRows(byTag, keysOf(bad), { tags: ['a'], rank: 1 }).misfits).toEqual([])
    expect(diffRows(byTag, [], bad).misfits).toHaveLength(1)
    expect(diffRows(byTag, keysOf(bad), undefined)).toEqual({
      keys: [],
      gained: [],
      lost: [],
      isIndexed: false,
      misfits: [],
    })
  })

  it('diffRows tells whether the entity has a row afterwards', () => {
    fc.assert(
      fc.property(bagArbitrary, bagArbitrary, (before, after) => {
        expect(diffRows(byTag, keysOf(before), after).isIndexed).toBe(rowsOf(after).size > 0)
      }),
    )
  })
})
