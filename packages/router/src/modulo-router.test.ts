import { parseId } from '@looseleaf/core'
import * as fc from 'fast-check'
import { codeOf } from '@looseleaf-tooling/kit/errors'
import { describe, expect, test } from 'vitest'
import { countsOf, unevenness } from '../test/evenness.ts'
import { moduloRouter } from './index.ts'

const bytes16: fc.Arbitrary<Uint8Array> = fc.uint8Array({ minLength: 16, maxLength: 16 })
const shardNumbers: fc.Arbitrary<number> = fc.integer({ min: 1, max: 4096 })

function integerOf(id: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(id).toString('hex')}`)
}

describe('moduloRouter', () => {
  test('the shard of an id is the id as an integer, modulo the number of shards', () => {
    fc.assert(
      fc.property(bytes16, shardNumbers, (id, shards) => {
        expect(moduloRouter({ shards }).shardOfId(id)).toBe(Number(integerOf(id) % BigInt(shards)))
      }),
    )
  })

  test.each([
    ['71f0c4d2-291b-444c-a126-86f486e3907c', 10, 2],
    ['f48b0440-ca0c-4f66-991c-4d5f6a078eaf', 10, 9],
    ['ffffffff-ffff-ffff-ffff-ffffffffffff', 4096, 4095],
    ['ffffffff-ffff-ffff-ffff-ffffffffffff', 7, 3],
  ])('the shard of %s among %i never changes', (id, shards, shard) => {
    expect(moduloRouter({ shards }).shardOfId(parseId(id))).toBe(shard)
  })

  test.each([
    ['', 0xe3b0c442 % 10],
    ['abc', 0xba7816bf % 10],
  ])('the shard of the key %j follows the first four bytes of its SHA-256', (key, shard) => {
    expect(moduloRouter({ shards: 10 }).shardOfKey(Buffer.from(key))).toBe(shard)
  })

  test('the fingerprint has the number of shards', () => {
    expect(moduloRouter({ shards: 10 }).fingerprint).toBe('modulo-1 shards=10')
  })

  test('ids near each other are on one shard, for this number of shards and for each up to 16', () => {
    fc.assert(
      fc.property(bytes16, shardNumbers, (near, shards) => {
        const id = moduloRouter({ shards }).newId(near)
        for (const number of [shards, ...Array.from({ length: 16 }, (_, i) => i + 1)]) {
          const router = moduloRouter({ shards: number })
          expect(router.shardOfId(id)).toBe(router.shardOfId(near))
        }
      }),
    )
  })

  test('an id near a key is on the shard of the key, for this number of shards and for each up to 16', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), shardNumbers, (key, shards) => {
        const id = moduloRouter({ shards }).newIdNearKey!(key)
        for (const number of [shards, ...Array.from({ length: 16 }, (_, i) => i + 1)]) {
          const router = moduloRouter({ shards: number })
          expect(router.shardOfId(id)).toBe(router.shardOfKey(key))
        }
      }),
    )
  })

  test('an id near another is a UUID of version 7 with its own millisecond', () => {
    const router = moduloRouter({ shards: 4093, time: { now: () => 1_235_697_046_123 } })
    fc.assert(
      fc.property(bytes16, (near) => {
        const hex = Buffer.from(router.newId(near)).toString('hex')
        expect(hex).toMatch(/^[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}$/)
        expect(Number.parseInt(hex.slice(0, 12), 16)).toBe(1_235_697_046_123)
      }),
    )
  })

  test('new ids, keys and ids near others spread evenly', () => {
    const router = moduloRouter({ shards: 7 })
    const made = Array.from({ length: 70_000 }, () => router.shardOfId(router.newId()))
    const keys = Array.from({ length: 70_000 }, (_, i) => router.shardOfKey(Buffer.from(`user:${i}`)))
    // New ids are random. They exceed this many deviations less than once in a million runs.
    expect(unevenness(countsOf(made, 7))).toBeLessThan(12)
    expect(unevenness(countsOf(keys, 7))).toBeLessThan(4)
  })

  test.each([0, -1, 2.5, NaN, Infinity, 4097, '2'])('%s shards are BAD_OPTION', (shards) => {
    expect(codeOf(() => moduloRouter({ shards: shards as number }))).toBe('BAD_OPTION')
  })
})
