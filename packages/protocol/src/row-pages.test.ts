import type { CatalogEntry, IndexRow, IndexScan } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { expect, test } from 'vitest'
import { pagesOfRows, rowText, type RowPagesOptions } from './row-pages.ts'
import { sizeClass, type Throttle } from './throttle/throttle.ts'

const ENTRY: CatalogEntry = {
  name: 'by_name',
  properties: [{ name: 'name', type: 'string', many: false }],
  shardOn: 'name',
  onMisfit: 'refuse',
  generation: 1,
  table: 'index_by_name_1',
  state: 'ready',
}
const COVERING: CatalogEntry = { ...ENTRY, table: 'index_by_name_2', include: ['name', 'age'] }

const rowOf = (n: number): IndexRow => ({
  key: [Buffer.from(`name ${n}`)],
  entityId: Buffer.alloc(16, n),
  version: n,
})

/** Reads the rows with these numbers, and returns the pages and all calls. */
async function read(numbers: readonly number[], options: RowPagesOptions, entry = ENTRY, maxPage = Infinity) {
  const { signal } = new AbortController()
  const calls: unknown[] = []
  const scan = async ({ after, limit, ...others }: IndexScan, given: unknown): Promise<IndexRow[]> => {
    expect(given).toEqual({ signal })
    calls.push({ after: after?.entityId[0], limit, ...others })
    return numbers
      .filter((number) => number > (after?.entityId[0] ?? 0))
      .slice(0, limit)
      .map(rowOf)
  }
  const throttle = {
    maxPage,
    async send<T>(shard: number, kindOf: (answer: T) => string, statement: () => Promise<T>): Promise<T> {
      const answer = await statement()
      calls.push(`shard ${shard}: ${kindOf(answer)}`)
      return answer
    },
    async take(shard: number, rows: number) {
      await Promise.resolve()
      calls.push(`shard ${shard}: ${rows} rows`)
    },
  } as unknown as Throttle
  const context = { driver: { shards: [{}, { index: () => ({ scan }) }] } } as unknown as EngineContext
  const pages: (readonly number[])[] = []
  for await (const page of pagesOfRows({ context, throttle, signal }, entry, 1, options)) {
    calls.push('page')
    pages.push(page.map(({ version }) => version))
  }
  return { pages, calls }
}

const SCAN = { prefix: [], order: 'asc' }
const kind = (rows: number, { table } = ENTRY): string => `shard 1: rows ${table} ${sizeClass(rows)}`

test('pages follow each other until one is not full, and each is measured by its table and size', async () => {
  const { pages, calls } = await read([1, 2, 3, 4, 5], { limit: 2 })
  expect(pages).toEqual([[1, 2], [3, 4], [5]])
  expect(calls).toEqual([
    { ...SCAN, limit: 2 },
    kind(2),
    'page',
    'shard 1: 2 rows',
    { ...SCAN, limit: 2, after: 2 },
    kind(2),
    'page',
    'shard 1: 2 rows',
    { ...SCAN, limit: 2, after: 4 },
    kind(1),
    'page',
    'shard 1: 1 rows',
  ])
})

test('an empty page after a full one ends the reading', async () => {
  const { pages, calls } = await read([1, 2], { limit: 2 })
  expect(pages).toEqual([[1, 2]])
  expect(calls.slice(-2)).toEqual([{ ...SCAN, limit: 2, after: 2 }, kind(0)])
})

test('a rate limit makes pages shorter, and a reading may begin behind a row', async () => {
  const { pages } = await read([1, 2, 3, 4, 5], { limit: 4, after: rowOf(2) }, ENTRY, 2)
  expect(pages).toEqual([[3, 4], [5]])
})

test('included bytes are read on request, and of covering indexes alone', async () => {
  const asked = async (options: RowPagesOptions, entry: CatalogEntry): Promise<unknown> =>
    (await read([1], options, entry)).calls[0]
  expect(await asked({ limit: 2, included: true }, COVERING)).toEqual({ ...SCAN, limit: 2, included: true })
  expect(await asked({ limit: 2 }, COVERING)).toEqual({ ...SCAN, limit: 2 })
  expect(await asked({ limit: 2, included: true }, ENTRY)).toEqual({ ...SCAN, limit: 2 })
})

test('a signal that has fired ends the reading before the next page', async () => {
  const controller = new AbortController()
  const context = { driver: { shards: [{ index: () => ({ scan: async () => [rowOf(1)] }) }] } }
  const throttle = { maxPage: 9, send: (_: number, __: unknown, scan: () => unknown) => scan(), take() {} }
  const reading = { context, throttle, signal: controller.signal } as unknown as Parameters<
    typeof pagesOfRows
  >[0]
  const pages = pagesOfRows(reading, ENTRY, 0, { limit: 1 })
  expect((await pages.next()).value).toHaveLength(1)
  controller.abort()
  await expect(pages.next()).rejects.toMatchObject({ code: 'ABORTED' })
})

test('rows are told apart by their entity and their key', () => {
  const texts = [rowOf(1), rowOf(2), { ...rowOf(1), key: rowOf(2).key }].map(rowText)
  expect(new Set(texts).size).toBe(3)
  expect(rowText({ ...rowOf(1), version: 9 } as IndexRow)).toBe(texts[0])
})
