import { formatId, parseId } from '@looseleaf/core'
import * as fc from 'fast-check'
import { runsOf } from '@looseleaf-tooling/vitest/long'
import { codeOf } from '@looseleaf-tooling/kit/errors'
import { describe, expect, test } from 'vitest'
import { countsOf, unevenness } from '../test/evenness.ts'
import { bucketRouter, evenBuckets } from './index.ts'
import { bucketOfId, bucketOfKey, BUCKETS } from './bucket-of-id.ts'

const bytes16: fc.Arbitrary<Uint8Array> = fc.uint8Array({ minLength: 16, maxLength: 16 })

describe('bucketRouter', () => {
  test('a fingerprint identifies the routing, and never changes', () => {
    expect([1, 2, 4].map((shards) => bucketRouter({ shards }).fingerprint)).toEqual([
      'buckets-1 shards=1 map=9f1dcbc35c350d60',
      'buckets-1 shards=2 map=7acb6ce2322d7c3f',
      'buckets-1 shards=4 map=853c2a34e79a729d',
    ])
  })

  test('an array, a function and the default have the same fingerprint for the same map', () => {
    const { fingerprint } = bucketRouter({ shards: 3 })
    const map = evenBuckets(3)
    expect(bucketRouter({ shards: 3, buckets: map }).fingerprint).toBe(fingerprint)
    expect(bucketRouter({ shards: 3, buckets: (bucket) => map[bucket] as number }).fingerprint).toBe(
      fingerprint,
    )
  })

  test('any other map or number of shards has another fingerprint', () => {
    const map = evenBuckets(2)
    const fingerprints = [
      bucketRouter({ shards: 2 }).fingerprint,
      // The same map with an additional, empty shard.
      bucketRouter({ shards: 3, buckets: map }).fingerprint,
      ...[0, 2047, 2048, 4095].map(
        (changed) =>
          bucketRouter({ shards: 2, buckets: map.map((s, b) => (b === changed ? 1 - s : s)) }).fingerprint,
      ),
    ]
    expect(new Set(fingerprints).size).toBe(fingerprints.length)
  })

  test.each([
    ['0192f0c1-7c1e-7abc-8def-0123456789ab', 2],
    ['f81d4fae-7dec-4123-a765-00a0c91e6bf6', 0],
    ['f81d4fae-7dec-11d0-a765-00a0c91e6bf6', 1],
  ])('the shard of %s among four never changes', (id, shard) => {
    expect(bucketRouter({ shards: 4 }).shardOfId(parseId(id))).toBe(shard)
  })

  test.each([
    ['', 3],
    ['abc', 2],
    ['mysql', 1],
  ])('the shard of the key %j among four never changes', (key, shard) => {
    expect(bucketRouter({ shards: 4 }).shardOfKey(Buffer.from(key))).toBe(shard)
  })

  test('the map assigns each bucket to its shard', () => {
    const map = Array.from({ length: BUCKETS }, (_, bucket) => (bucket * 7) % 5)
    const router = bucketRouter({ shards: 5, buckets: map })
    fc.assert(fc.property(bytes16, (id) => router.shardOfId(id) === map[bucketOfId(id)]))
  })

  test('a later change of the given array does not change the routing', () => {
    const map = [...evenBuckets(2)]
    const router = bucketRouter({ shards: 2, buckets: map })
    const near = router.newId()
    const shard = router.shardOfId(near)
    map.fill(1 - shard)
    expect(router.shardOfId(near)).toBe(shard)
  })

  test('ids near each other stay on one shard while shards are added', () => {
    const small = bucketRouter({ shards: 2 })
    fc.assert(
      fc.property(bytes16, fc.integer({ min: 1, max: 40 }), (near, shards) => {
        const id = small.newId(near)
        expect(bucketOfId(id)).toBe(bucketOfId(near))
        const grown = bucketRouter({ shards, buckets: (bucket) => (bucket * 7) % shards })
        expect(grown.shardOfId(id)).toBe(grown.shardOfId(near))
      }),
      { numRuns: runsOf(50) },
    )
  })

  test('an id near a key has the bucket of the key, so both stay on one shard while shards are added', () => {
    const { newIdNearKey } = bucketRouter({ shards: 2 })
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), fc.integer({ min: 1, max: 40 }), (key, shards) => {
        const id = newIdNearKey!(key)
        expect(bucketOfId(id)).toBe(bucketOfKey(key))
        const grown = bucketRouter({ shards, buckets: (bucket) => (bucket * 7) % shards })
        expect(grown.shardOfId(id)).toBe(grown.shardOfKey(key))
      }),
      { numRuns: runsOf(50) },
    )
  })

  test('new ids spread evenly over the shards', () => {
    const router = bucketRouter({ shards: 7 })
    const shards = Array.from({ length: 70_000 }, () => router.shardOfId(router.newId()))
    // The ids are random. They exceed seven deviations less than once in a million runs.
    expect(unevenness(countsOf(shards, 7))).toBeLessThan(12)
  })

  test('new ids are UUIDs of version 7 with their millisecond, and sort by it', () => {
    let now = 0
    const router = bucketRouter({ shards: 2, time: { now: () => now } })
    const moments = [
      0,
      1,
      255,
      256,
      65_535,
      65_536,
      2 ** 32 - 1,
      2 ** 32,
      1_235_697_046_123,
      2 ** 47,
      2 ** 48 - 1,
    ]
    const ids = moments.map((moment) => {
      now = moment
      const id = formatId(router.newId())
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
      expect(Number.parseInt(id.replace('-', '').slice(0, 12), 16)).toBe(moment)
      return id
    })
    expect(ids.toSorted()).toEqual(ids)
  })

  test.each<[string, Parameters<typeof bucketRouter>[0]]>([
    ['no shards', { shards: 0 }],
    ['more shards than buckets', { shards: 4097 }],
    ['half a shard', { shards: 1.5 }],
    ['a map that is too short', { shards: 2, buckets: [0, 1] }],
    ['a map that is too long', { shards: 1, buckets: Array.from({ length: 4097 }, () => 0) }],
    ['a map with a missing shard', { shards: 2, buckets: (bucket) => (bucket === 4095 ? 2 : 0) }],
    ['a map with a negative shard', { shards: 2, buckets: () => -1 }],
    ['a map with half a shard', { shards: 2, buckets: () => 0.5 }],
    ['a map with a hole', { shards: 2, buckets: Array.from<number>({ length: 4096 }).fill(0, 1) }],
    ['a map that is not an array', { shards: 2, buckets: new Uint16Array(4096) as unknown as number[] }],
  ])('%s is BAD_OPTION', (_, options) => {
    expect(codeOf(() => bucketRouter(options))).toBe('BAD_OPTION')
  })
})
