import type { IndexTable, IndexTableSpec } from '@looseleaf/core/internal'
import { expect } from 'expect'
import { codeOf, freshTable, newId, newName, rowsOf, withBench, type ContractParts } from './harness.ts'

/** Defines the tests of covering indexes, whose rows have included bytes. */
export function coveringContract(parts: ContractParts): void {
  const { test } = parts.runner
  const bench = withBench(parts)

  const fresh = (): Promise<IndexTable> => freshTable(bench.shard, specOf(newName('index')))

  const included = async (table: IndexTable): Promise<unknown[]> =>
    (await table.scan({ prefix: [], order: 'asc', limit: 100, included: true })).map((row) =>
      row.included ? Buffer.from(row.included).toString() : row.included,
    )

  test('included bytes come back unchanged if a scan requests them', async () => {
    const table = await fresh()
    const all = [Buffer.from('a'), null, Buffer.alloc(0), Buffer.alloc(4096, 0xff)]
    await table.upsert(
      all.map((bytes, i) => ({ key: [BigInt(i)], entityId: newId(), version: 1, included: bytes })),
    )
    const range = { prefix: [], limit: 100 } as const
    for (const order of ['asc', 'desc'] as const) {
      const rows = await table.scan({ ...range, order, included: true })
      const expected = order === 'asc' ? all : all.toReversed()
      expect(rows.map((row) => row.included && Buffer.from(row.included))).toEqual(expected)
    }
    const after = { key: [1n], entityId: Buffer.alloc(16, 0xff) }
    const behind = await table.scan({ ...range, order: 'asc', after, included: true })
    expect(behind.map((row) => row.included?.length)).toEqual([0, 4096])
    expect(await table.scan({ ...range, order: 'asc' })).not.toContainEqual(
      expect.objectContaining({ included: expect.anything() }),
    )
  })

  test('a row keeps the bytes of its greatest version, in any order of upserts', async () => {
    const table = await fresh()
    const row = { key: [1n], entityId: newId() }
    for (const [version, bytes, kept] of [
      [5, 'five', 'five'],
      [3, 'three', 'five'],
      [7, 'seven', 'seven'],
      // A retry.
      [7, 'seven', 'seven'],
      [9, null, null],
      [8, 'eight', null],
    ] as const) {
      await table.upsert([{ ...row, version, included: bytes === null ? null : Buffer.from(bytes) }])
      expect(await included(table)).toEqual([kept])
    }
  })

  test('a row that occurs twice in one call keeps the bytes of the greater version', async () => {
    const table = await fresh()
    const row = { key: [1n], entityId: newId() }
    await table.upsert([
      { ...row, version: 2, included: Buffer.from('two') },
      { ...row, version: 9, included: Buffer.from('nine') },
      { ...row, version: 4, included: Buffer.from('four') },
    ])
    expect(await included(table)).toEqual(['nine'])
  })

  test('a row that is written without included bytes has none', async () => {
    const table = await fresh()
    await table.upsert([{ key: [1n], entityId: newId(), version: 1 }])
    expect(await included(table)).toEqual([null])
  })

  test('a key column named included works in a table that is not covering', async () => {
    const table = await freshTable(bench.shard, { ...specOf(newName('index')), covering: undefined })
    const row = { key: [1n], entityId: newId() }
    await table.upsert([{ ...row, version: 1 }])
    const [scanned] = await table.scan({ prefix: [], order: 'asc', limit: 2 })
    const [ofEntity] = await rowsOf(bench.shard, table, [row.entityId])
    for (const found of [scanned, ofEntity]) expect(found).toEqual({ ...row, version: 1 })
  })

  test('rows of a covering index are removed, and found by their entity', async () => {
    const table = await fresh()
    const row = { key: [1n], entityId: newId() }
    await table.upsert([{ ...row, version: 5, included: Buffer.from('five') }])
    expect(await rowsOf(bench.shard, table, [row.entityId])).toMatchObject([{ version: 5 }])
    expect(await table.remove([{ ...row, before: 5 }])).toBe(0)
    expect(await table.remove([{ ...row, before: 6 }])).toBe(1)
  })

  test('a covering table is BAD_INDEX for a plain index, and the reverse', async () => {
    for (const covering of [true, undefined] as const) {
      const spec = specOf(newName('index'))
      await bench.shard.createIndexTable({ ...spec, covering })
      const other: IndexTableSpec = { ...spec, covering: covering ? undefined : true }
      expect(await codeOf(bench.shard.createIndexTable(other))).toBe('BAD_INDEX')
    }
  })
}

function specOf(table: string): IndexTableSpec {
  // The column has the name that a driver may use for the included bytes.
  return { table, columns: [{ name: 'included', type: 'integer' }], covering: true }
}
