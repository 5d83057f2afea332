import { tableSpec } from '@looseleaf/index-engine/internal'
import { createConsole } from '@looseleaf/console'
import { cleanIndex, DataStore, defineIndex, LooseleafError, memoryShards, startCleaner } from 'looseleaf'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { visitConsole, type ConsoleVisitor } from '../../../test/support.ts'
import { faultsPage } from './faults-page.ts'
import { createRowCounts, type RowCounts } from './row-counts.ts'
import { createShardFaults, type Refuse, type ShardFaults } from './shard-faults.ts'

const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name', include: ['n'] })
const byN = defineIndex('by_n', { properties: { n: 'integer' }, shardOn: 'id' })
const acts = { onAct: () => {} }

let store: DataStore
let shards: ShardFaults
let counts: RowCounts
/** Number of rows that the cleaner has deleted by following writes. */
let followed: number
let served: ConsoleVisitor

async function open(shardCount: number): Promise<void> {
  shards = createShardFaults(memoryShards(shardCount))
  counts = createRowCounts()
  followed = 0
  store = await DataStore.open({
    shards: shards.shards,
    indexes: [byName, byN],
    observer: {
      happened(event) {
        counts.happened(event)
        if (event.kind === 'round') followed += event.removed
      },
    },
    queryTimeMs: 50,
    migrate: true,
    onWarning: () => {},
  })
  await store.putMany([1, 2, 3].map((n) => ({ name: 'ada', n })))
  const window = createConsole({
    store,
    base: '/store',
    acts,
    pages: [faultsPage({ store, indexes: ['by_name', 'by_n'], counts })],
  })
  served = visitConsole(window)
  const opened = store
  onTestFinished(() => opened.close())
}

beforeEach(() => open(2))

const page = (): Promise<string> => served.text('/store/faults')

/** Does an act, and waits for its end: an answer comes after a second although the act goes on. */
async function act(fields: Record<string, string>) {
  const response = await served.act('/store/faults', fields)
  await vi.waitFor(async () => expect(await page()).not.toContain('<strong>Being '), { timeout: 30_000 })
  return response
}

const rowsOf = async (index: string): Promise<string> =>
  (await served.text(`/store/index/${index}`)) + (await served.text(`/store/index/${index}?shard=1`))

test.each([
  { index: 'by_name', ask: () => store.query(byName, { name: 'ada' }) },
  { index: 'by_name', ask: () => store.list(byName, { name: 'ada' }) },
  { index: 'by_n', ask: () => store.query(byN, {}, { scatter: true }) },
])('rows planted in $index are discarded by queries and deleted by a cleaning', async ({ index, ask }) => {
  expect((await act({ plant: index })).statusCode).toBe(303)
  const planted = Number(
    new RegExp(`<h2>${index}</h2>\\s+<dl><dt>planted</dt><dd>(\\d+) rows`).exec(await page())![1],
  )
  expect(planted).toBeGreaterThan(2)
  const { items, cost } = await ask()
  expect(items).toHaveLength(3)
  expect(cost.rowsDiscarded).toBe(planted)
  expect(counts.of(index).discarded).toBe(planted)
  expect(await page()).toContain(`${planted} times`)
  const rows = await rowsOf(index)
  expect(rows).toContain('✗ nothing')
  const [, dangling] = /nothing:[\s\S]*?href="([^"]+)"/.exec(rows) ?? []
  expect(await served.text(dangling!)).toContain('It should have no rows. One row is superfluous.')

  expect((await act({ clean: index })).statusCode).toBe(303)
  expect(await page()).toContain(`>${planted} rows deleted.<`)
  expect((await ask()).cost.rowsDiscarded).toBe(0)
  expect(counts.of(index)).toEqual({ discarded: planted, removed: planted })
  expect((await ask()).items).toHaveLength(3)
})

test('the count of deleted rows includes rows that a cleaner deletes by following the tombstones of a cleaning', async () => {
  // With one shard, the error of another shard ends no work halfway.
  await open(1)
  // A fresh sweep, so that the cleaner begins none.
  await cleanIndex(store)
  const cleaner = startCleaner(store, { intervalMs: 10 })
  onTestFinished(() => cleaner.stop())
  await act({ plant: 'by_n' })
  let tombstones = 0
  const refuse: Refuse = ({ table, operation, shard }) =>
    table === 'entities' && operation === 'insert' && ++tombstones > 5
      ? new LooseleafError('SHARD_UNAVAILABLE', 'The shard is down.', { shard })
      : undefined
  shards.refusals.add(refuse)
  await act({ clean: 'by_n' })
  expect(await page()).toContain('SHARD_UNAVAILABLE')
  await vi.waitFor(() => expect(followed).toBe(5), { timeout: 100_000 })
  shards.refusals.delete(refuse)
  await act({ clean: 'by_n' })
  expect(await page()).toMatch(
    /<h2>by_n<\/h2>\s+<dl><dt>planted<\/dt><dd>6 rows<\/dd>.*<dt>deleted by cleaners<\/dt><dd>6 rows</,
  )
})

test('tombstones of a cleaning do not displace entities from the list of the latest writes', async () => {
  const { id } = await store.put({ name: 'bo', n: 9 })
  for (let i = 0; i < 4; i++) {
    await act({ plant: 'by_n' })
    await act({ clean: 'by_n' })
  }
  const text = await served.text('/store/entity')
  expect(text).toContain(`/store/entity/${id}"`)
  expect(text).toMatch(/<p class="soft">\d+ deleted entities in this period not shown\.<\/p>/)
})

test('the count of planted rows includes rows on other shards when a shard fails', async () => {
  await store.put({ name: 'ada', n: 4 })
  const { driver, catalog } = store.context
  const spec = tableSpec(catalog.current().indexes.find(({ name }) => name === 'by_name')!)
  const rows = await Promise.all(
    driver.shards.map((shard) => shard.index(spec).scan({ prefix: [], order: 'asc', limit: 10 })),
  )
  // All rows have the same key, so they are on one shard.
  await driver.shards[rows.findIndex((rowsOfShard) => rowsOfShard.length === 0)]!.dropIndexTable(spec)
  expect((await act({ plant: 'by_name' })).statusCode).toBe(303)
  const text = await page()
  expect(text).toMatch(/<h2>by_name<\/h2>\s+<dl><dt>planted<\/dt><dd>8 rows/)
  expect(text).toContain('8 rows planted. INDEX_NOT_FOUND')
})

test('only acts break indexes, and only those that the options name', async () => {
  expect((await act({ plant: 'by_n', token: 'A'.repeat(43) })).statusCode).toBe(403)
  expect((await act({ plant: 'by_other' })).statusCode).toBe(404)
  expect((await act({})).statusCode).toBe(404)
  await served.text('/store/faults?plant=by_n')
  expect((await store.query(byN, {}, { scatter: true })).cost.rowsDiscarded).toBe(0)
})
