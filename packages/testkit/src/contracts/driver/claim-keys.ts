import type { ColumnType, IndexRow, Key } from '@looseleaf/core/internal'
import { expect } from 'expect'
import type { TestFunctions } from '../test-functions.ts'
import { row, plainClaim, type Fresh } from './claims-harness.ts'
import { orderedValues } from './index-rows.ts'
import { newId } from './harness.ts'

export function claimKeyContract(runner: TestFunctions, fresh: Fresh): void {
  const { test } = runner
  /** Takes each key for its entity, and again for other entities, which must fail; then swaps and removes each claim. */
  async function expectDistinct(types: readonly ColumnType[], keys: readonly Key[]): Promise<void> {
    const { claims, index, all } = await fresh(...types)
    const rows = keys.map((key, i) => row(key, newId(), i + 1))
    expect((await claims.take(rows)).map(plainClaim)).toEqual(rows.map(plainClaim))
    const others = rows.map((claim) => ({ ...claim, entityId: newId(), version: 1_000 }))
    expect((await claims.take(others)).map(plainClaim)).toEqual(rows.map(plainClaim))
    for (const [i, claim] of rows.entries()) {
      expect((await claims.take([others[i] as IndexRow])).map(plainClaim)).toEqual([plainClaim(claim)])
      expect(await claims.swap(claim, others[i] as IndexRow)).toBe(true)
      const after = [...others.slice(0, i + 1), ...rows.slice(i + 1)].map(plainClaim)
      expect(await all()).toEqual(after)
    }
    for (const claim of others) expect(await index.remove([{ ...claim, before: 1_001 }])).toBe(1)
    expect(await all()).toEqual([])
  }

  for (const [type, values] of Object.entries(orderedValues) as [ColumnType, Key][]) {
    test(`keys of type ${type} are distinct`, () =>
      expectDistinct(
        [type],
        values.map((value) => [value]),
      ))
  }

  test('keys that collations treat as equal are distinct', () => {
    const texts = ['A', 'a', 'a\0', 'a ', 'a  ', 'ss', '\u00df', 'a\u0300', '\u00e0', 'e', '\u00e9']
    const sorted = texts.map((text) => Buffer.from(text)).toSorted(Buffer.compare)
    return expectDistinct(
      ['string'],
      sorted.map((bytes) => [bytes]),
    )
  })

  test('keys that differ after 512 bytes are distinct', () => {
    const long = (first: number, last: number): Buffer => {
      const bytes = Buffer.alloc(544, 0x61)
      bytes[512] = first
      bytes[543] = last
      return bytes
    }
    const keys = [long(1, 1), long(1, 2), long(2, 1)].map((bytes) => [bytes])
    return expectDistinct(['string'], [[Buffer.alloc(512, 0x61)], ...keys])
  })

  test('keys that differ in any one of several columns are distinct', () => {
    const types: ColumnType[] = ['boolean', 'string', 'number', 'uuid', 'integer', 'time']
    const ids = [Buffer.alloc(16, 1), Buffer.alloc(16, 2)]
    const first: Key = [0n, Buffer.from('a'), 0.1, ids[0] as Buffer, -1n, 5n]
    const second: Key = [1n, Buffer.from('b'), 0.1 + 0.2, ids[1] as Buffer, 1n, 6n]
    // The differing column moves from the last to the first, so that the keys ascend.
    const keys = types.map((_, i) =>
      first.with(types.length - 1 - i, second[types.length - 1 - i] as Key[number]),
    )
    return expectDistinct(types, [first, ...keys])
  })
}
