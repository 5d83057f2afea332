import type { IndexRow } from '@looseleaf/core/internal'
import { expect } from 'expect'
import { claimKeyContract } from './claim-keys.ts'
import { swapContract, takeContract } from './claim-writes.ts'
import { freshClaims, row, plainClaim, uniqueSpec, type Fresh } from './claims-harness.ts'
import { codeOf, newId, newName, withBench, type ContractParts } from './harness.ts'

export function claimContract(parts: ContractParts): void {
  const { describe, test } = parts.runner
  const bench = withBench(parts)
  const fresh: Fresh = (...types) => freshClaims(bench, ...types)

  describe('a take', () => takeContract(parts.runner, fresh))
  describe('a swap', () => swapContract(parts.runner, fresh))
  describe('keys', () => claimKeyContract(parts.runner, fresh))

  test('a table of claims is the same object for the same name', () => {
    const spec = uniqueSpec('integer')
    expect(bench.shard.claims(spec)).toBe(bench.shard.claims({ ...spec }))
  })

  test('a table of claims may be created again and keeps its claims, and is INDEX_NOT_FOUND once dropped', async () => {
    const { spec, claims, index, all } = await fresh('integer')
    const [a, b] = [row([1n], newId(), 1), row([2n], newId(), 1)]
    await claims.take([a])
    await bench.shard.createIndexTable(spec)
    expect(await all()).toEqual([a].map(plainClaim))
    await bench.shard.dropIndexTable(spec)
    await bench.shard.dropIndexTable(spec)
    expect(await codeOf(claims.take([a]))).toBe('INDEX_NOT_FOUND')
    expect(await codeOf(claims.take([a, b]))).toBe('INDEX_NOT_FOUND')
    expect(await codeOf(claims.swap(a, b))).toBe('INDEX_NOT_FOUND')
    expect(await codeOf(index.count({ prefix: [] }))).toBe('INDEX_NOT_FOUND')
    expect(await codeOf(index.countShort([{ prefix: [] }], 1))).toBe('INDEX_NOT_FOUND')
    await bench.shard.createIndexTable(spec)
    expect(await all()).toEqual([])
  })

  test('an upsert into a table of claims is rejected', async () => {
    const { claims, index, all } = await fresh('integer')
    const claim = row([1n], newId(), 1)
    await claims.take([claim])
    for (const rows of [[], [row([1n], newId(), 9)], [row([2n], newId(), 9)]])
      expect(await codeOf(index.upsert(rows))).toBe('BAD_OPTION')
    expect(await all()).toEqual([claim].map(plainClaim))
  })

  test('a claim is removed only for its entity, and only if its stamp is lower', async () => {
    const { claims, index, all } = await fresh('integer')
    const [a, b] = [row([1n], newId(), 5), row([2n], newId(), 5)]
    await claims.take([a, b])
    expect(await index.remove([{ ...a, before: 5 }])).toBe(0)
    expect(await index.remove([{ ...a, entityId: b.entityId, before: 9 }])).toBe(0)
    expect(await all()).toEqual([a, b].map(plainClaim))
    expect(await index.remove([a, b].map((each) => ({ ...each, before: 6 })))).toBe(2)
    const next = row([1n], newId(), 1)
    expect((await claims.take([next])).map(plainClaim)).toEqual([next].map(plainClaim))
  })

  test('claims are scanned in both orders, in pages, and counted', async () => {
    const { claims, index } = await fresh('integer', 'integer')
    const holders = [newId(), newId(), newId()]
    const rows = Array.from({ length: 24 }, (_, i) =>
      row([BigInt(Math.floor(i / 6)), BigInt(i % 6)], holders[i % 3] as Buffer, i + 1),
    )
    await claims.take(rows)
    for (const order of ['asc', 'desc'] as const) {
      const expected = order === 'asc' ? rows : rows.toReversed()
      const found: IndexRow[] = []
      for (let page: readonly IndexRow[]; ; found.push(...page)) {
        const after = found.at(-1)
        page = await index.scan({ prefix: [], order, limit: 5, ...(after && { after }) })
        if (page.length === 0) break
      }
      expect(found.map(plainClaim)).toEqual(expected.map(plainClaim))
      const some = await index.scan({
        prefix: [2n],
        lower: { value: 1n, inclusive: false },
        upper: { value: 4n, inclusive: true },
        order,
        limit: 9,
      })
      expect(some.map(plainClaim)).toEqual(
        expected.filter((each) => [14, 15, 16].includes(each.version - 1)).map(plainClaim),
      )
      expect((await index.scan({ prefix: [3n, 5n], order, limit: 9 })).map(plainClaim)).toEqual(
        rows.slice(23).map(plainClaim),
      )
    }
    expect(await index.count({ prefix: [] })).toBe(3)
    expect(await index.countShort([{ prefix: [] }, { prefix: [1n] }], 6)).toEqual([undefined, 3])
    expect(await index.count({ prefix: [1n], upper: { value: 1n, inclusive: true } })).toBe(2)
    expect(await index.count({ prefix: [1n, 1n] })).toBe(1)
  })

  test('claims are found by their entities, together with the rows of index tables', async () => {
    const { spec, claims } = await fresh('integer')
    const plain = { table: newName('ix'), columns: spec.columns }
    await bench.shard.createIndexTable(plain)
    const [a, b, c] = [newId(), newId(), newId()]
    const rows = [row([1n], a, 1), row([2n], b, 2), row([3n], a, 3), row([4n], c, 4)]
    await claims.take(rows)
    await bench.shard.index(plain).upsert([row([1n], b, 7)])
    const found = await bench.shard.rowsOf([spec, plain], [a, b, a])
    const sorted = found.map((each) =>
      each.map((claim) => JSON.stringify(plainClaim(claim), bigints)).toSorted(),
    )
    const expected = [rows.slice(0, 3), [row([1n], b, 7)]]
    expect(sorted).toEqual(
      expected.map((each) => each.map((claim) => JSON.stringify(plainClaim(claim), bigints)).toSorted()),
    )
  })
}

/** Replacer of `JSON.stringify` for bigints. */
const bigints = (_: string, value: unknown): unknown => (typeof value === 'bigint' ? String(value) : value)
