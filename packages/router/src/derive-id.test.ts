import { createHash } from 'node:crypto'
import { parseId } from '@looseleaf/core'
import * as fc from 'fast-check'
import { codeOf } from '@looseleaf-tooling/kit/errors'
import { describe, expect, test } from 'vitest'
import { countsOf, unevenness } from '../test/evenness.ts'
import { bucketOfId, bucketRouter, deriveId } from './index.ts'
import type { KeyPart } from './internal.ts'

const part: fc.Arbitrary<KeyPart> = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.boolean(),
)

describe('deriveId', () => {
  // Stores have entities under such ids. A change here would lose them.
  test.each([['user', 'ada', '5460f031-94e2-5b3d-98ea-151a9c8198ee']] as const)(
    'the derived id of %s %j never changes',
    (kind, key, id) => {
      expect(deriveId(kind, key)).toBe(id)
    },
  )

  test('deriveId returns a UUID of version 5 (RFC 9562) over the JSON of kind and key', () => {
    fc.assert(
      fc.property(part, part, (a, b) => {
        const hash = createHash('sha1')
          .update(Buffer.from('b0a7e1c65d1b4b0e9c1f3f6d0d6e9a52', 'hex'))
          .update(JSON.stringify(['vote', a, b]))
          .digest('hex')
        const hex = deriveId('vote', [a, b]).replaceAll('-', '')
        expect(hex[12]).toBe('5')
        expect('89ab').toContain(hex[16])
        expect(hex.slice(0, 12) + hex.slice(13, 16) + hex.slice(17)).toBe(
          hash.slice(0, 12) + hash.slice(13, 16) + hash.slice(17, 32),
        )
      }),
    )
  })

  test('a key and a list of it give the same id, and adjacent parts stay distinct', () => {
    expect(deriveId('user', ['ada'])).toBe(deriveId('user', 'ada'))
    const ids = [
      deriveId('vote', ['a', 'bc']),
      deriveId('vote', ['ab', 'c']),
      deriveId('vote', 'a,bc'),
      deriveId('vote', ['a', 'b', 'c']),
      deriveId('votea', 'bc'),
      deriveId('vote', 1),
      deriveId('vote', '1'),
      deriveId('vote', true),
      deriveId('vote', 'true'),
    ]
    expect(new Set(ids).size).toBe(ids.length)
  })

  test('an id derived near another has its bucket, for any kind of id', () => {
    const router = bucketRouter({ shards: 5 })
    fc.assert(
      fc.property(fc.uuid(), part, (near, key) => {
        const id = parseId(deriveId('like', key, { near }))
        expect(bucketOfId(id)).toBe(bucketOfId(parseId(near)))
        expect(router.shardOfId(id)).toBe(router.shardOfId(parseId(near)))
        expect(id[6]! >> 4).toBe(5)
      }),
    )
  })

  test('derived ids spread evenly over the shards', () => {
    const router = bucketRouter({ shards: 7 })
    const shards = Array.from({ length: 70_000 }, (_, i) => router.shardOfId(parseId(deriveId('user', i))))
    expect(Math.abs(unevenness(countsOf(shards, 7)))).toBeLessThan(4)
  })

  test.each([
    ['no kind', '', 'ada', /needs a kind such as 'user'; got/],
    ['a kind that is no string', 7, 'ada', /needs a kind/],
    ['no key', 'user', undefined, /has to be a string, a finite number or a boolean; got nothing/],
    ['an empty list', 'user', [], /at least one part/],
    ['null in a list', 'user', ['a', null], /got null/],
    ['NaN', 'user', NaN, /finite/],
    ['a list in a list', 'user', [['a']], /got an array/],
    ['half a surrogate pair', 'user', '\ud800', /half a surrogate pair/],
  ])('%s is BAD_OPTION', (_, kind, key, message) => {
    const derive = (): unknown => deriveId(kind as string, key as string)
    expect(codeOf(derive)).toBe('BAD_OPTION')
    expect(derive).toThrow(message)
  })

  test('an unknown option is BAD_OPTION, and a near that is not an id is BAD_ID', () => {
    expect(codeOf(() => deriveId('user', 'ada', { naer: 'x' } as object))).toBe('BAD_OPTION')
    expect(codeOf(() => deriveId('user', 'ada', { near: 'x' }))).toBe('BAD_ID')
  })
})
