import type { ColumnType, IndexRow, IndexTableSpec, KeyValue } from '@looseleaf/core/internal'
import { expect } from 'expect'
import { seededRandom } from '../seeded-random.ts'
import { codeOf, freshIndex, hex, newId, newName, rowsOf, withBench, type ContractParts } from './harness.ts'

const INT64_MIN = -(2n ** 63n)
const INT64_MAX = 2n ** 63n - 1n

/** Values of each type, in ascending order. */
export const orderedValues: Readonly<Record<ColumnType, readonly KeyValue[]>> = {
  uuid: [
    Buffer.alloc(16),
    Buffer.from('00000000000000000000000000000001', 'hex'),
    Buffer.from('20202020202020202020202020202020', 'hex'),
    Buffer.from('61000000000000000000000000000000', 'hex'),
    Buffer.from('61202020202020202020202020202020', 'hex'),
    Buffer.alloc(16, 0xff),
  ],
  string: [
    '',
    '\0',
    '\0\0',
    ' ',
    '  ',
    "'",
    'A',
    '\\',
    'a',
    'a\0',
    'a ',
    'a  ',
    'aa',
    'b',
    'z',
    'à',
    'é',
    'ß',
    'ａ',
    '🍂',
    '🍃',
  ]
    .map((text) => Buffer.from(text))
    .concat(
      Buffer.from([0xff]),
      Buffer.alloc(543, 0xff),
      Buffer.concat([Buffer.alloc(543, 0xff), Buffer.from([0])]),
      Buffer.alloc(544, 0xff),
    )
    .toSorted(Buffer.compare),
  integer: [
    INT64_MIN,
    INT64_MIN + 1n,
    -(2n ** 53n) - 1n,
    -1n,
    0n,
    1n,
    2n ** 53n - 1n,
    2n ** 53n,
    2n ** 53n + 1n,
    INT64_MAX - 1n,
    INT64_MAX,
  ],
  number: [
    -Number.MAX_VALUE,
    -1.5,
    -Number.MIN_VALUE,
    0,
    Number.MIN_VALUE,
    2.2250738585072014e-308,
    1e-7,
    0.1,
    0.1 + 0.2,
    1 / 3,
    1,
    1 + Number.EPSILON,
    1.7976931348623157,
    123456789.12345679,
    2 ** 53,
    2 ** 53 + 2,
    98765432109876540,
    2 ** 63,
    2 ** 64,
    1e21,
    1.2345678901234567e200,
    Number.MAX_VALUE,
  ],
  boolean: [0n, 1n],
  time: [INT64_MIN, -1n, 0n, 1_700_000_000_123_456n, INT64_MAX],
}

export function indexContract(parts: ContractParts): void {
  const { test } = parts.runner
  const bench = withBench(parts)

  for (const [type, values] of Object.entries(orderedValues) as [ColumnType, KeyValue[]][]) {
    test(`values of type ${type} come back unchanged, in their order, and are distinct`, async () => {
      const index = await freshIndex(bench.shard, type)
      const entityId = newId()
      await index.upsert(values.map((value) => ({ key: [value], entityId, version: 1 })))
      for (const order of ['asc', 'desc'] as const) {
        const rows = await index.scan({ prefix: [], order, limit: 100 })
        const expected = order === 'asc' ? values : values.toReversed()
        expect(rows.map(({ key }) => comparable(key[0]))).toEqual(expected.map(comparable))
      }
      for (const value of values) {
        const rows = await index.scan({ prefix: [value], order: 'asc', limit: 100 })
        expect(rows.map(({ key }) => comparable(key[0]))).toEqual([comparable(value)])
        expect(await index.count({ prefix: [value] })).toBe(1)
      }
      // A descending column has the same values in reverse order.
      const down = await freshIndex(bench.shard, `-${type}`)
      await down.upsert(values.map((value) => ({ key: [value], entityId, version: 1 })))
      const highToLow = await down.scan({ prefix: [], order: 'asc', limit: 100 })
      expect(highToLow.map(({ key }) => comparable(key[0]))).toEqual(values.toReversed().map(comparable))
      expect(await index.remove(values.map((value) => ({ key: [value], entityId, before: 2 })))).toBe(
        values.length,
      )
    })
  }

  test('numbers come back to the last bit, with any number of digits', async () => {
    const index = await freshIndex(bench.shard, 'number')
    const entityId = newId()
    const random = seededRandom(754)
    const values = new Set<number>()
    while (values.size < 4_000) {
      // Doubles of all sizes, and typical ones: prices, averages, places on a map.
      const any = new DataView(random.bytes(8).slice().buffer).getFloat64(0)
      if (Number.isFinite(any)) values.add(any)
      values.add((random.integer(1_000_000) * 99.99) / 7)
      values.add((random.integer(2 ** 31) / 2 ** 31) * 180)
    }
    const written = [...values].toSorted((a, b) => a - b)
    for (let i = 0; i < written.length; i += 500) {
      const rows = written.slice(i, i + 500).map((value) => ({ key: [value], entityId, version: 1 }))
      await index.upsert(rows)
    }
    const scanned = await index.scan({ prefix: [], order: 'asc', limit: written.length })
    expect(scanned.map(({ key }) => key[0])).toEqual(written)
    const ofEntity = await rowsOf(bench.shard, index, [entityId])
    expect(ofEntity.map(({ key }) => Number(key[0])).toSorted((a, b) => a - b)).toEqual(written)
  })

  test('values have the types of the port', async () => {
    const types: ColumnType[] = ['uuid', 'string', 'integer', 'number', 'boolean', 'time']
    const index = await freshIndex(bench.shard, ...types)
    const key = [newId(), Buffer.from('s'), 5n, 5, 1n, 6n]
    await index.upsert([{ key, entityId: newId(), version: 3 }])
    const [row] = await index.scan({ prefix: [], order: 'asc', limit: 1 })
    expect(row?.key.map((value) => (value instanceof Uint8Array ? 'bytes' : typeof value))).toEqual([
      'bytes',
      'bytes',
      'bigint',
      'number',
      'bigint',
      'bigint',
    ])
    expect(row?.entityId).toHaveLength(16)
    expect(row?.version).toBe(3)
  })

  test('an existing row keeps the greater version', async () => {
    const index = await freshIndex(bench.shard, 'integer')
    const row = { key: [1n], entityId: newId() }
    for (const [version, kept] of [
      [5, 5],
      [3, 5],
      [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
      [9, Number.MAX_SAFE_INTEGER],
    ] as const) {
      await index.upsert([{ ...row, version }])
      expect((await rowsOf(bench.shard, index, [row.entityId]))[0]?.version).toBe(kept)
    }
  })

  test('a row that occurs twice in one call keeps the greater version', async () => {
    const index = await freshIndex(bench.shard, 'integer')
    const row = { key: [1n], entityId: newId() }
    await index.upsert([
      { ...row, version: 2 },
      { ...row, version: 9 },
      { ...row, version: 4 },
    ])
    expect(await rowsOf(bench.shard, index, [row.entityId])).toMatchObject([{ version: 9 }])
  })

  test('a row is removed only if its version is lower', async () => {
    const index = await freshIndex(bench.shard, 'integer', 'string')
    const entityId = newId()
    const key = [1n, Buffer.from('a')]
    await index.upsert([{ key, entityId, version: 5 }])
    expect(await index.remove([{ key, entityId, before: 5 }])).toBe(0)
    expect(await index.remove([{ key, entityId: newId(), before: 9 }])).toBe(0)
    expect(await index.remove([{ key: [1n, Buffer.from('a ')], entityId, before: 9 }])).toBe(0)
    expect(
      await index.remove([
        { key, entityId, before: 6 },
        { key, entityId, before: 7 },
      ]),
    ).toBe(1)
    expect(await rowsOf(bench.shard, index, [entityId])).toEqual([])
  })

  test('a removal of rows with another epoch is STALE_EPOCH, and deletes nothing', async () => {
    const index = await freshIndex(bench.shard, 'integer', 'string')
    const [entityId, key] = [newId(), [7n, Buffer.from('fenced')]]
    await index.upsert([{ key, entityId, version: 5 }])
    const removals = [{ key, entityId, before: 6 }]
    expect(await codeOf(index.remove(removals, { epoch: 2 }))).toBe('STALE_EPOCH')
    expect(await index.remove(removals, { epoch: 1 })).toBe(1)
    expect(await index.remove(removals, { epoch: 1 })).toBe(0)
  })

  test('hundreds of rows are written and removed in one call', async () => {
    const index = await freshIndex(bench.shard, 'integer', 'number')
    const rows = Array.from({ length: 400 }, (_, i) => ({
      key: [BigInt(i), i / 7],
      entityId: newId(),
      version: i + 1,
    }))
    await index.upsert(rows)
    expect(await index.count({ prefix: [] })).toBe(400)
    expect(await index.remove(rows.map(({ key, entityId }) => ({ key, entityId, before: 201 })))).toBe(200)
    expect(await index.count({ prefix: [] })).toBe(200)
  })

  test('calls with no rows do nothing', async () => {
    const index = await freshIndex(bench.shard, 'integer')
    await index.upsert([])
    expect(await index.remove([])).toBe(0)
    expect(await rowsOf(bench.shard, index, [])).toEqual([])
  })

  test('every row of an entity is found once, with a list of any length', async () => {
    const index = await freshIndex(bench.shard, 'integer')
    const [a, b] = [newId(), newId()]
    await index.upsert([1n, 2n, 3n].map((value) => ({ key: [value], entityId: a, version: 1 })))
    await index.upsert([{ key: [1n], entityId: b, version: 1 }])
    const ids = [a, ...Array.from({ length: 2_000 }, newId), a, b]
    const rows = await rowsOf(bench.shard, index, ids)
    expect(rows.map(({ key, entityId }) => `${hex(entityId)} ${key[0]}`).toSorted()).toEqual(
      [`${hex(a)} 1`, `${hex(a)} 2`, `${hex(a)} 3`, `${hex(b)} 1`].toSorted(),
    )
  })

  test('one call finds the rows of entities in many tables, in a list per table', async () => {
    const kinds: ColumnType[][] = [
      ['integer'],
      ['string', 'number'],
      ['uuid', 'boolean', 'time'],
      ['integer'],
    ]
    const specs = Array.from({ length: 70 }, (_, i) => ({
      table: newName('ix'),
      columns: kinds[i % kinds.length]!.map((type, column) => ({ name: `p${column}`, type })),
    }))
    const { pick } = seededRandom(3)
    const ids = Array.from({ length: 60 }, newId)
    const requested = [...ids.slice(0, 40), ids[0] as Buffer, newId()]
    const expected: string[][] = []
    const textOf = ({ key, entityId, version }: IndexRow): string =>
      JSON.stringify([key.map((value) => String(comparable(value))), hex(entityId), version])
    for (const [number, spec] of specs.entries()) {
      await bench.shard.createIndexTable(spec)
      // Every third table is empty.
      const rows = (number % 3 === 0 ? [] : ids.slice(number % 7)).map((entityId, i) => ({
        key: spec.columns.map(({ type }) => pick(orderedValues[type])),
        entityId,
        version: i + 1,
      }))
      await bench.shard.index(spec).upsert(rows)
      expected.push(
        rows
          .filter(({ entityId }) => requested.includes(entityId))
          .map(textOf)
          .toSorted(),
      )
    }
    const found = await bench.shard.rowsOf(specs, requested)
    expect(found.map((rows) => rows.map(textOf).toSorted())).toEqual(expected)
    expect(await bench.shard.rowsOf([], ids)).toEqual([])
    expect(await bench.shard.rowsOf(specs.slice(0, 2), [])).toEqual([[], []])
    const missing = { ...(specs[0] as IndexTableSpec), table: newName('ix') }
    expect(await codeOf(bench.shard.rowsOf([...specs, missing], ids))).toBe('INDEX_NOT_FOUND')
  })

  test('concurrent upserts and removals in any order leave the rows with the greatest stamp', async () => {
    const index = await freshIndex(bench.shard, 'integer')
    const entityIds = Array.from({ length: 20 }, newId)
    const rows = entityIds.map((entityId) => ({ key: [7n], entityId }))
    await Promise.all(
      Array.from({ length: 8 }, async (_, round) => {
        const ordered = round % 2 === 0 ? rows : rows.toReversed()
        await index.upsert(ordered.map((row) => ({ ...row, version: 10 + round })))
        await index.remove(ordered.map((row) => ({ ...row, before: 10 + round })))
      }),
    )
    expect((await rowsOf(bench.shard, index, entityIds)).map(({ version }) => version)).toEqual(
      Array<number>(20).fill(17),
    )
  })
}

export function comparable(value: KeyValue | undefined): unknown {
  return value instanceof Uint8Array ? hex(value) : value
}
