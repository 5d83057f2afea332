import { createHash } from 'node:crypto'
import { parseId } from '@looseleaf/core'
import { codeOf } from '@looseleaf-tooling/kit/errors'
import { describe, expect, test } from 'vitest'
import { countsOf, unevenness } from '../test/evenness.ts'
import { bucketOfId, bucketOfKey, BUCKETS } from './bucket-of-id.ts'

describe('bucketOfId', () => {
  // A change of these buckets would lose stored data.
  test.each([
    ['version 7', '0192f0c1-7c1e-7abc-8def-0123456789ab', 0xabc],
    ['version 4', 'f81d4fae-7dec-4123-a765-00a0c91e6bf6', 0x123],
    ['version 5', '2ed6657d-e927-568b-95e1-2665a8aea6a2', 0x68b],
    ['version 3', '5df41881-3aed-3515-88a7-2f4a814cf09e', 0x515],
    ['version 1', 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6', 0x4ce],
    ['version 2', 'f81d4fae-7dec-21d0-a765-00a0c91e6bf6', 0xc8e],
    ['version 6', '1d07decf-81d4-6fae-a765-00a0c91e6bf6', 0x799],
    ['version 8', '2489e9ad-2ee2-8e00-8ec9-32d5f69181c0', 0x010],
    ['the nil id', '00000000-0000-0000-0000-000000000000', 0x374],
    ['the greatest id', 'ffffffff-ffff-ffff-ffff-ffffffffffff', 0x5ac],
    ['version 4 by its digits, of another variant', 'f81d4fae-7dec-4123-2765-00a0c91e6bf6', 0xeb4],
  ])('the bucket of %s never changes', (_, id, bucket) => {
    expect(bucketOfId(parseId(id))).toBe(bucket)
  })

  test.each([3, 4, 5, 7])(
    'the bucket of a UUID of version %i is the twelve bits after the version',
    (version) => {
      for (let bucket = 0; bucket < BUCKETS; bucket += 37) {
        const id = createHash('sha256').update(String(bucket)).digest().subarray(0, 16)
        id[6] = (version << 4) | (bucket >> 8)
        id[7] = bucket & 255
        id[8] = 0x80 | (id[8]! & 0x3f)
        expect(bucketOfId(id)).toBe(bucket)
      }
    },
  )

  test('ids of version 1 that differ only in one byte of time spread evenly', () => {
    const ids = Array.from({ length: 40_960 }, (_, i) => {
      const id = parseId('00000000-7dec-11d0-a765-00a0c91e6bf6')
      id.writeUInt32BE(i)
      return id
    })
    expect(Math.abs(unevenness(countsOf(ids.map(bucketOfId), BUCKETS)))).toBeLessThan(4)
  })

  test('anything but 16 bytes is BAD_ID', () => {
    expect(codeOf(() => bucketOfId(new Uint8Array(15)))).toBe('BAD_ID')
    expect(codeOf(() => bucketOfId('0192f0c1-7c1e-7abc-8def-0123456789ab' as unknown as Uint8Array))).toBe(
      'BAD_ID',
    )
  })
})

describe('bucketOfKey', () => {
  test.each([
    ['', 0xe3b],
    ['abc', 0xba7],
  ])('the bucket of %j is the first twelve bits of its SHA-256', (key, bucket) => {
    expect(bucketOfKey(Buffer.from(key))).toBe(bucket)
  })

  test('the bucket of a key is that of its bytes, although keys come again and buffers change', () => {
    const expected = (key: Uint8Array): number =>
      createHash('sha256').update(key).digest().readUInt16BE(0) >> 4
    const reused = Buffer.alloc(70)
    for (let round = 0; round < 2; round++)
      for (let i = 0; i < 5_000; i++) {
        reused.writeUInt32BE((i * 2_654_435_761) % 2 ** 32)
        const key = reused.subarray(0, i % 71)
        expect(bucketOfKey(key)).toBe(expected(key))
      }
  })

  test('similar keys spread evenly', () => {
    const buckets = Array.from({ length: 81_920 }, (_, i) => bucketOfKey(Buffer.from(`user:${i}`)))
    expect(Math.abs(unevenness(countsOf(buckets, BUCKETS)))).toBeLessThan(4)
  })
})
