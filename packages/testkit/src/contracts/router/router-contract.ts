import type { Router } from '@looseleaf/core'
import { ID_BYTES } from '@looseleaf/core/internal'
import { expect } from 'expect'
import type { TestFunctions } from '../test-functions.ts'
import { codeOf } from '../thrown.ts'
import { keysOfAllKinds, idsOfAllKinds } from './sample-keys.ts'

/**
 * Defines the tests of every router. Call it at the top of a test file. `makeRouter` returns a router that is configured as in production;
 * each call returns an equal router.
 */
export function routerContract(runner: TestFunctions, name: string, makeRouter: () => Router): void {
  const { describe, test } = runner
  describe(`${name} keeps the router contract`, () => {
    test('a router has a whole number of shards', () => {
      const { shardCount } = makeRouter()
      expect(Number.isInteger(shardCount)).toBe(true)
      expect(shardCount).toBeGreaterThan(0)
    })

    test("a router's fingerprint is the same for every instance", () => {
      const { fingerprint } = makeRouter()
      expect(fingerprint).not.toBe('')
      expect(makeRouter().fingerprint).toBe(fingerprint)
    })

    test('every id and every key is on a shard of the router', () => {
      const router = makeRouter()
      for (const id of idsOfAllKinds()) expectShard(router, router.shardOfId(id))
      for (const key of keysOfAllKinds()) expectShard(router, router.shardOfKey(key))
    })

    test('the shard of an id or key is the same for every call, instance and copy of the bytes', () => {
      const router = makeRouter()
      const other = makeRouter()
      for (const id of idsOfAllKinds()) {
        const shard = router.shardOfId(id)
        const again = [router.shardOfId(id), other.shardOfId(id), other.shardOfId(elsewhere(id))]
        expect(again).toEqual([shard, shard, shard])
      }
      for (const key of keysOfAllKinds()) {
        const shard = router.shardOfKey(key)
        const again = [router.shardOfKey(key), other.shardOfKey(key), other.shardOfKey(elsewhere(key))]
        expect(again).toEqual([shard, shard, shard])
      }
    })

    test('a router does not change the ids that it gets', () => {
      const router = makeRouter()
      for (const id of idsOfAllKinds()) {
        const before = Uint8Array.from(id)
        router.shardOfId(id)
        router.shardOfKey(id)
        router.newId(id)
        expect(Uint8Array.from(id)).toStrictEqual(before)
      }
    })

    test('new ids are distinct UUIDs of 16 bytes, on a shard of the router', () => {
      const router = makeRouter()
      const ids = Array.from({ length: 20_000 }, () => router.newId())
      expect(new Set(ids.map(hexOf)).size).toBe(ids.length)
      for (const id of ids.slice(0, 1000)) {
        expect(id.length).toBe(ID_BYTES)
        expect((id[8] as number) >> 6).toBe(2)
        expectShard(router, router.shardOfId(id))
      }
    })

    test('an id near any other id is a new id on the same shard', () => {
      const router = makeRouter()
      for (const near of idsOfAllKinds()) {
        const shard = router.shardOfId(near)
        const made = Array.from({ length: 5 }, () => router.newId(near))
        for (const id of made) expect(router.shardOfId(id)).toBe(shard)
        expect(new Set([near, ...made].map(hexOf)).size).toBe(6)
      }
    })

    test('a chain of near ids stays on one shard', () => {
      const router = makeRouter()
      const first = router.newId()
      let id = first
      for (let i = 0; i < 200; i++) {
        id = router.newId(id)
        expect(router.shardOfId(id)).toBe(router.shardOfId(first))
      }
    })

    test('an id near a key is a new id on the shard of the key, if the router makes such ids', () => {
      const router = makeRouter()
      for (const key of keysOfAllKinds()) {
        const [a, b] = [router.newIdNearKey?.(key), router.newIdNearKey?.(key)]
        if (a === undefined || b === undefined) return
        const shard = router.shardOfKey(key)
        expect([router.shardOfId(a), router.shardOfId(b)]).toEqual([shard, shard])
        expect(hexOf(a)).not.toBe(hexOf(b))
      }
    })

    for (const length of [0, 15, 17]) {
      test(`an id of ${length} bytes is BAD_ID`, () => {
        const router = makeRouter()
        expect(codeOf(() => router.shardOfId(new Uint8Array(length)))).toBe('BAD_ID')
        expect(codeOf(() => router.newId(new Uint8Array(length)))).toBe('BAD_ID')
      })
    }
  })
}

function expectShard(router: Router, shard: number): void {
  expect([shard, Number.isInteger(shard) && shard >= 0 && shard < router.shardCount]).toEqual([shard, true])
}

function elsewhere(bytes: Uint8Array): Uint8Array {
  const memory = Buffer.alloc(bytes.length + 9, 255)
  memory.set(bytes, 5)
  return memory.subarray(5, 5 + bytes.length)
}

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}
