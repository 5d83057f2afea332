import type { IndexScan } from '@looseleaf/core/internal'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { scriptedShard } from '../../test/scripted-shard.ts'
import type { ParameterizedSql } from './index-scan.ts'
import { unionOf } from './union.ts'

interface Item {
  readonly shape: string
  readonly parameters: readonly unknown[]
  readonly keep?: 'scan'
}

const itemsOf = (count: number, parameters: readonly unknown[] = [1], shape = 'a'): Item[] =>
  Array.from({ length: count }, () => ({ shape, parameters }))

/** Returns the statements that are sent for items, in order. */
async function sentFor(items: readonly Item[], most = 128): Promise<ParameterizedSql[]> {
  const sent: ParameterizedSql[] = []
  await unionOf(items, {
    maxParts: most,
    maxPreparedParts: 32,
    statementOf: (item) => ({ ...item, build: () => sql`SELECT` }),
    toEmpty: (item) => ({ ...item, parameters: item.parameters.map(() => 'nothing') }),
    async select(statement) {
      sent.push(statement)
      return []
    },
  })
  return sent
}

const lengthsFor = async (items: readonly Item[], most?: number): Promise<number[]> =>
  (await sentFor(items, most)).map(({ parameters }) => parameters.length / items[0]!.parameters.length)

test('a union is filled up to one of few lengths with empty parts', async () => {
  const [statement] = await sentFor(itemsOf(17, [1, 2]))
  expect(statement?.parameters).toEqual([
    ...Array.from({ length: 34 }, (_, i) => (i % 2) + 1),
    'nothing',
    'nothing',
  ])
  expect((await sentFor(itemsOf(18, [1, 2])))[0]?.shape).toBe(statement?.shape)
})

test('a prepared union has a power of two of parts, and a longer union is not prepared', async () => {
  const kept = (count: number, parameters?: readonly unknown[]): Item[] =>
    itemsOf(count, parameters).map((item) => ({ ...item, keep: 'scan' }))
  const sent: ParameterizedSql[] = []
  for (const count of [1, 2, 3, 5, 9, 17, 32, 33]) sent.push(...(await sentFor(kept(count))))
  expect(sent.map(({ parameters }) => parameters.length)).toEqual([1, 2, 4, 8, 16, 32, 32, 36])
  expect(sent.map(({ keep }) => keep)).toEqual([...Array.from({ length: 7 }, () => 'scan'), undefined])
  // `maxParts` bounds the rounding.
  expect((await sentFor(kept(9), 12)).map(({ parameters }) => parameters.length)).toEqual([12])
})

test('each shape is a separate statement, and a single item is sent unchanged', async () => {
  const sent = await sentFor([...itemsOf(2), ...itemsOf(1, [1], 'b'), ...itemsOf(3)])
  expect(sent.map(({ shape }) => shape)).toEqual(['5 a', 'b'])
})

test('many items, many parameters or many bytes are split into several statements', async () => {
  expect(await lengthsFor(itemsOf(300))).toEqual([128, 128, 44])
  expect(await lengthsFor(itemsOf(40), 16)).toEqual([16, 16, 8])
  const hundred = Array.from({ length: 100 }, () => 1)
  expect(await lengthsFor(itemsOf(30, hundred))).toEqual([20, 10])
  expect(
    await lengthsFor(
      itemsOf(
        2,
        Array.from({ length: 4_000 }, () => 1),
      ),
    ),
  ).toEqual([1, 1])
  expect(await lengthsFor(itemsOf(10, [Buffer.alloc(128 * 1024)]))).toEqual([4, 4, 2])
  expect(await lengthsFor([])).toEqual([])
})

test('a union has two statements in flight, and sends no other after one fails', async () => {
  const begun: PromiseWithResolvers<never[]>[] = []
  const filled = unionOf([...itemsOf(10), ...itemsOf(3, [1], 'b')], {
    maxParts: 2,
    maxPreparedParts: 0,
    statementOf: (item) => ({ ...item, build: () => sql`SELECT` }),
    toEmpty: (item) => item,
    select() {
      begun.push(Promise.withResolvers())
      return begun.at(-1)!.promise
    },
  })
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
  await turn()
  expect(begun).toHaveLength(2)
  begun[1]?.resolve([])
  await turn()
  expect(begun).toHaveLength(3)
  begun[2]?.reject(new Error('lost'))
  await expect(filled).rejects.toThrow('lost')
  begun[0]?.resolve([])
  await turn()
  expect(begun).toHaveLength(3)
})

describe('a database that keeps scans prepared', () => {
  const spec = { table: 'ix', columns: [{ name: 'a', type: 'integer' }] } as const
  const scan: IndexScan = { prefix: [7n], order: 'asc', limit: 3 }
  const sessionCheck = sql`OWN`

  test.each([
    ['one scan', [scan], ['OWN', 7n, 3n], 'scan'],
    ['several', [scan, scan, scan], ['OWN', 7n, 3n, 7n, 3n, 7n, 3n, 7n, 0n], 'scan'],
    ['many', Array.from({ length: 33 }, () => scan), undefined, undefined],
  ] as const)(
    'scans have one session check, and few of them are prepared: %s',
    async (_, scans, parameters, keep) => {
      const shard = scriptedShard({
        preparedParts: 32,
        orderedParts: true,
        ownSession: { only: (value) => sql`${sessionCheck} ${value}`, parameters: ['OWN'] },
      })
      await shard.act([['SELECT', { rows: [] }]], () => shard.index(spec).scanMany(scans))
      const [sent] = shard.sent
      // The check stands in the first part, before all other parameters.
      expect(sent?.sql.match(/WHERE OWN 1 AND/g)).toHaveLength(1)
      expect(sent?.sql.indexOf('OWN')).toBeLessThan(sent!.sql.indexOf('LIMIT'))
      if (parameters !== undefined) expect(sent?.parameters).toEqual(parameters)
      expect(sent?.keep).toBe(keep)
    },
  )

  test('a scan after a place has no session check, and is not prepared', async () => {
    const shard = scriptedShard({
      preparedParts: 32,
      ownSession: { only: () => sessionCheck, parameters: ['OWN'] },
    })
    const after = { key: [7n], entityId: Buffer.alloc(16) }
    await shard.act([['SELECT', { rows: [] }]], () => shard.index(spec).scan({ ...scan, after }))
    expect(shard.sent[0]?.sql).not.toContain('OWN')
    expect(shard.sent[0]?.parameters).not.toContain('OWN')
    expect(shard.sent[0]?.keep).toBeUndefined()
  })
})

test.each([
  ['asc', [1n, 2n, 3n]],
  ['desc', [3n, 2n, 1n]],
] as const)('unordered rows are sorted in the order of their scan, %s', async (order, values) => {
  const shard = scriptedShard()
  const index = shard.index({ table: 'ix', columns: [{ name: 'a', type: 'integer' }] })
  const row = (part: number, a: number): object => ({
    $part: part,
    a,
    entity_id: Buffer.from('x'),
    version: 1,
  })
  const rows = [row(1, 2), row(0, 3), row(1, 3), row(0, 1), row(1, 1), row(0, 2)] as never
  const scan: IndexScan = { prefix: [], order, limit: 3 }
  const outcome = await shard.act([['UNION ALL', { rows }]], () => index.scanMany([scan, scan]))
  expect(outcome).toMatchObject({ status: 'fulfilled' })
  const pages = outcome.status === 'fulfilled' ? outcome.value : []
  expect(pages.map((page) => page.map(({ key }) => key[0]))).toEqual([values, values])
})
