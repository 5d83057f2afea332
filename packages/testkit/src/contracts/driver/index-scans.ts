import type { IndexRow, IndexScan, IndexTable, KeyRange, KeyValue } from '@looseleaf/core/internal'
import { expect } from 'expect'
import type { TestFunctions } from '../test-functions.ts'
import { seededRandom } from '../seeded-random.ts'
import { comparable } from './index-rows.ts'
import { freshIndex, hex, newId, withBench, type Bench, type ContractParts } from './harness.ts'

/** Columns of the tables, in one direction and in several. A column with a minus is descending. */
const tables = [
  ['string', 'integer', 'number'],
  ['-string', '-integer', '-number'],
  ['string', '-integer', 'number'],
  ['-string', 'integer', '-number'],
] as const

/**
 * Numbers of scans of one call: few ones, and more than one statement takes. How a call is divided does not depend on the columns, so
 * one table is enough for the longest.
 */
const lengthsOf = (columns: (typeof tables)[number]): readonly number[] =>
  columns === tables[0] ? [0, 1, 2, 41, 700] : [0, 1, 2, 41]

/** Values of each column: few, so that every column has ties. */
const domain: readonly (readonly KeyValue[])[] = [
  ['', 'a', 'a ', 'b', 'é'].map((text) => Buffer.from(text)),
  [-5n, 0n, 2n ** 53n + 1n],
  [-0.5, 0, 0.1, 1e300],
]

export function indexScanContract(parts: ContractParts): void {
  const { describe, test } = parts.runner
  const bench = withBench(parts)
  for (const columns of tables) {
    describe(`by ${columns.join(', ')}`, () => scansOf(parts.runner, bench, columns))
  }

  describe('by hand', () => {
    test('bounds are inclusive or exclusive', async () => {
      const table = await freshIndex(bench.shard, 'uuid', 'integer')
      const user = newId()
      await table.upsert(
        [1n, 2n, 3n, 4n].map((value) => ({ key: [user, value], entityId: newId(), version: 1 })),
      )
      const values = async (range: Omit<KeyRange, 'prefix'>): Promise<unknown[]> =>
        (await table.scan({ prefix: [user], ...range, order: 'asc', limit: 10 })).map(({ key }) => key[1])
      const bound = (value: bigint, inclusive: boolean) => ({ value, inclusive })
      expect(await values({ lower: bound(2n, true) })).toEqual([2n, 3n, 4n])
      expect(await values({ lower: bound(2n, false) })).toEqual([3n, 4n])
      expect(await values({ upper: bound(3n, true) })).toEqual([1n, 2n, 3n])
      expect(await values({ upper: bound(3n, false) })).toEqual([1n, 2n])
      expect(await values({ lower: bound(2n, false), upper: bound(3n, false) })).toEqual([])
      expect(await values({ lower: bound(3n, true), upper: bound(3n, true) })).toEqual([3n])
      expect(await table.count({ prefix: [user], lower: bound(2n, false), upper: bound(4n, false) })).toBe(1)
    })

    test('countShort counts a range of as many rows as it may have, and no longer one', async () => {
      const table = await freshIndex(bench.shard, 'integer')
      const entityId = newId()
      await table.upsert([1n, 2n, 3n].map((value) => ({ key: [value], entityId, version: 1 })))
      const all = { prefix: [] }
      const one = { prefix: [2n] }
      expect(await table.countShort([all], 3)).toEqual([1])
      expect(await table.countShort([all], 2)).toEqual([undefined])
      expect(await table.countShort([all, one, all], 2)).toEqual([undefined, 1, undefined])
    })

    test('repairStamps replaces stamps above every version, of one entity only', async () => {
      const table = await freshIndex(bench.shard, 'integer')
      const [own, other] = [newId(), newId()]
      const far = 9_100_000_000_000_000
      await table.upsert([
        { key: [1n], entityId: own, version: far },
        { key: [2n], entityId: own, version: 5 },
        { key: [3n], entityId: other, version: far },
      ])
      expect(await table.repairStamps(own, 7)).toBe(1)
      expect(await table.repairStamps(own, 8)).toBe(0)
      const rows = await table.scan({ prefix: [], order: 'asc', limit: 10 })
      expect(rows.map(({ version }) => version)).toEqual([7, 5, far])
    })

    test('a scan continues after a row that was removed', async () => {
      const table = await freshIndex(bench.shard, 'integer')
      const all = [1n, 2n, 3n].map((value) => ({ key: [value], entityId: newId(), version: 1 }))
      await table.upsert(all)
      const second = all[1] as IndexRow
      await table.remove([{ ...second, before: 2 }])
      const rest = await table.scan({ prefix: [], order: 'asc', limit: 9, after: second })
      expect(rest.map(({ key }) => key[0])).toEqual([3n])
    })
  })
}

function scansOf({ beforeAll, test }: TestFunctions, bench: Bench, columns: (typeof tables)[number]): void {
  const { integer, pick } = seededRandom(20090227)
  const isOften = (): boolean => integer(5) < 2
  let index: IndexTable
  const rows: IndexRow[] = []

  beforeAll(async () => {
    index = await freshIndex(bench.shard, ...columns)
    const entityIds = Array.from({ length: 40 }, newId)
    const seen = new Set<string>()
    for (let version = 1; rows.length < 300; version++) {
      const row = { key: domain.map(pick), entityId: pick(entityIds), version }
      const name = describeRow(row)
      if (seen.has(name)) continue
      seen.add(name)
      rows.push(row)
    }
    await index.upsert(rows)
    rows.sort((a, b) => compareRows(columns, a, b))
  })

  /** Returns a range with bounds at stored values and at others. */
  function randomRange(): KeyRange {
    const depth = integer(columns.length + 1)
    const prefix = domain.slice(0, depth).map(pick)
    const column = domain[depth]
    if (column === undefined) return { prefix }
    const bound = () => ({ value: pick(column), inclusive: pick([true, false]) })
    return { prefix, ...(isOften() && { lower: bound() }), ...(isOften() && { upper: bound() }) }
  }

  function randomScan(): IndexScan {
    const range = randomRange()
    const after = isOften() ? pick(matching(rows, range).concat(pick(rows))) : undefined
    return {
      ...range,
      order: pick(['asc', 'desc']),
      limit: pick([1, 3, 20, 1_000]),
      // A cursor is a place within the range.
      ...(after && within(after, range) && { after: { ...after, inclusive: isOften() } }),
    }
  }

  const withVersion = (row: IndexRow): string => `${describeRow(row)} ${row.version}`
  const expected = (scan: IndexScan): string[] => naiveScan(rows, columns, scan).map(withVersion)
  const entitiesIn = (range: KeyRange): number =>
    new Set(matching(rows, range).map(({ entityId }) => hex(entityId))).size

  test('a scan returns the rows of a naive search', async () => {
    for (let i = 0; i < 80; i++) {
      const scan = randomScan()
      expect((await index.scan(scan)).map(withVersion)).toEqual(expected(scan))
    }
  })

  test('scanMany returns the rows of each scan, in the order of the scans', async () => {
    for (const length of lengthsOf(columns)) {
      const scans = Array.from({ length }, randomScan)
      // Scans that differ in their values only.
      const alike = Array.from({ length }, (): IndexScan => ({
        prefix: [pick(domain[0]!)],
        order: 'desc',
        limit: 3,
      }))
      for (const batch of [scans, alike]) {
        const found = await index.scanMany(batch)
        expect(found.map((page) => page.map(withVersion))).toEqual(batch.map(expected))
      }
    }
  })

  test('a count returns the number of distinct entities', async () => {
    for (let i = 0; i < 60; i++) {
      const range = randomRange()
      expect(await index.count(range)).toBe(entitiesIn(range))
    }
  })

  test('countMany returns each count, in the order of the ranges', async () => {
    for (const length of lengthsOf(columns)) {
      const ranges = Array.from({ length }, randomRange)
      const alike = Array.from({ length }, (): KeyRange => ({ prefix: [pick(domain[0]!)] }))
      for (const batch of [ranges, alike]) expect(await index.countMany(batch)).toEqual(batch.map(entitiesIn))
    }
  })

  test('countShort returns the count of each range with few rows, and undefined for the others', async () => {
    for (const length of lengthsOf(columns)) {
      const ranges = Array.from({ length }, randomRange)
      const alike = Array.from({ length }, (): KeyRange => ({ prefix: [pick(domain[0]!)] }))
      for (const batch of [ranges, alike])
        for (const maxRows of [0, 7, 1_000]) {
          const wanted = batch.map((range) =>
            matching(rows, range).length > maxRows ? undefined : entitiesIn(range),
          )
          expect(await index.countShort(batch, maxRows)).toEqual(wanted)
        }
    }
  })

  for (const order of ['asc', 'desc'] as const) {
    test(`pages of every size return each row once, ${order}`, async () => {
      for (const limit of [1, 7, 299, 300]) {
        const prefix = limit === 1 ? [domain[0]?.[1] as KeyValue] : []
        const met: IndexRow[] = []
        for (let page = await index.scan({ prefix, order, limit }); page.length > 0;) {
          met.push(...page)
          page = await index.scan({ prefix, order, limit, after: page[page.length - 1] as IndexRow })
        }
        expect(met.map(describeRow)).toEqual(
          naiveScan(rows, columns, { prefix, order, limit: 1_000 }).map(describeRow),
        )
      }
    })
  }
}

function describeRow({ key, entityId }: IndexRow): string {
  return [...key.map((value) => String(comparable(value))), hex(entityId)].join(' ')
}

function compareValues(a: KeyValue, b: KeyValue): number {
  if (a instanceof Uint8Array) return Buffer.compare(a, b as Uint8Array)
  return a < (b as typeof a) ? -1 : a > (b as typeof a) ? 1 : 0
}

function compareRows(
  columns: readonly string[],
  a: Pick<IndexRow, 'key' | 'entityId'>,
  b: Pick<IndexRow, 'key' | 'entityId'>,
): number {
  for (let i = 0; i < a.key.length; i++) {
    const order = compareValues(a.key[i] as KeyValue, b.key[i] as KeyValue)
    if (order !== 0) return columns[i]?.startsWith('-') ? -order : order
  }
  return Buffer.compare(a.entityId, b.entityId)
}

function within({ key }: IndexRow, { prefix, lower, upper }: KeyRange): boolean {
  if (prefix.some((value, i) => compareValues(key[i] as KeyValue, value) !== 0)) return false
  const value = key[prefix.length]
  if (value === undefined) return true
  const above = lower === undefined ? 1 : compareValues(value, lower.value)
  const below = upper === undefined ? 1 : compareValues(upper.value, value)
  return (
    (above > 0 || (above === 0 && lower?.inclusive === true)) &&
    (below > 0 || (below === 0 && upper?.inclusive === true))
  )
}

function matching(rows: readonly IndexRow[], range: KeyRange): IndexRow[] {
  return rows.filter((row) => within(row, range))
}

/** Expects the rows in ascending order. */
function naiveScan(rows: readonly IndexRow[], columns: readonly string[], scan: IndexScan): IndexRow[] {
  const sign = scan.order === 'asc' ? 1 : -1
  const { after } = scan
  const found = matching(rows, scan).filter((row) => {
    const distance = after === undefined ? 1 : sign * compareRows(columns, row, after)
    return distance > 0 || (distance === 0 && after?.inclusive === true)
  })
  return (scan.order === 'asc' ? found : found.toReversed()).slice(0, scan.limit)
}
