import { createServer } from 'node:http'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { tableSpec } from '@looseleaf/index-engine'
import { DataStore, defineIndex } from '@looseleaf/store'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { createConsole, type ConsoleOptions } from '../console.ts'
import { createRowCounts, type RowCounts } from './row-counts.ts'

const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name', include: ['n'] })
const byN = defineIndex('by_n', { properties: { n: 'integer' }, shardOn: 'id' })
const acts = { onAct: () => {} }

let store: DataStore
let counts: RowCounts
let origin: string

beforeEach(async () => {
  counts = createRowCounts()
  store = await DataStore.open({
    shards: memoryShards(2),
    indexes: [byName, byN],
    observer: { happened: counts.happened },
    queryTimeMs: 50,
    migrate: true,
    onWarning: () => {},
  })
  await store.putMany([1, 2, 3].map((n) => ({ name: 'ada', n })))
  const window = createConsole({
    store,
    base: '/store',
    acts,
    faults: { indexes: ['by_name', 'by_n'], counts },
  })
  const server = createServer((asked, response) => void window.handle(asked, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  origin = `http://127.0.0.1:${(server.address() as { port: number }).port}`
  onTestFinished(async () => {
    window.close()
    server.closeAllConnections()
    server.close()
    await store.close()
  })
})

const page = async (): Promise<string> => (await fetch(`${origin}/store/faults`)).text()

async function act(fields: Record<string, string>): Promise<Response> {
  const loaded = await fetch(`${origin}/store/faults`)
  const cookie = loaded.headers.getSetCookie()[0]?.split(';')[0] ?? ''
  const token = /name="token" value="([^"]+)"/.exec(await loaded.text())?.[1] ?? ''
  const body = new URLSearchParams({ token, ...fields })
  return fetch(`${origin}/store/faults`, { method: 'POST', headers: { cookie }, body, redirect: 'manual' })
}

const rowsOf = async (index: string): Promise<string> =>
  (await (await fetch(`${origin}/store/index/${index}`)).text()) +
  (await (await fetch(`${origin}/store/index/${index}?shard=1`)).text())

test.each([
  { index: 'by_name', ask: () => store.query(byName, { name: 'ada' }) },
  { index: 'by_name', ask: () => store.list(byName, { name: 'ada' }) },
  { index: 'by_n', ask: () => store.query(byN, {}, { scatter: true }) },
])('rows planted in $index are discarded by readers, and cleaned away', async ({ index, ask }) => {
  expect((await act({ plant: index })).status).toBe(303)
  const planted = Number(
    new RegExp(`<h2>${index}</h2>\\s+<dl><dt>planted</dt><dd>(\\d+) rows`).exec(await page())![1],
  )
  expect(planted).toBeGreaterThan(2)
  const { items, cost } = await ask()
  expect(items).toHaveLength(3)
  expect(cost.rowsDiscarded).toBe(planted)
  expect(counts.of(index).discarded).toBe(planted)
  expect(await page()).toContain(`${planted} times`)
  expect(await rowsOf(index)).toContain('✗ nothing')

  expect((await act({ clean: index })).status).toBe(303)
  expect((await ask()).cost.rowsDiscarded).toBe(0)
  expect(counts.of(index)).toEqual({ discarded: planted, removed: planted })
  expect((await ask()).items).toHaveLength(3)
})

test('what was planted counts where a shard fails', async () => {
  await store.put({ name: 'ada', n: 4 })
  const { driver, catalog } = store.context
  const spec = tableSpec(catalog.current().indexes.find(({ name }) => name === 'by_name')!)
  const rows = await Promise.all(
    driver.shards.map((shard) => shard.index(spec).scan({ prefix: [], order: 'asc', limit: 10 })),
  )
  // All have one key, and so are on one shard.
  await driver.shards[rows.findIndex((some) => some.length === 0)]!.dropIndexTable(spec)
  expect((await act({ plant: 'by_name' })).status).toBe(303)
  const text = await page()
  expect(text).toMatch(/<h2>by_name<\/h2>\s+<dl><dt>planted<\/dt><dd>8 rows/)
  expect(text).toContain('INDEX_NOT_FOUND')
})

test('only what may be broken is, and by acts alone', async () => {
  const refused = await fetch(`${origin}/store/faults`, {
    method: 'POST',
    body: new URLSearchParams({ plant: 'by_n' }),
  })
  expect(refused.status).toBe(403)
  expect((await act({ plant: 'by_other' })).status).toBe(404)
  expect((await act({})).status).toBe(404)
  await fetch(`${origin}/store/faults?plant=by_n`)
  expect((await store.query(byN, {}, { scatter: true })).cost.rowsDiscarded).toBe(0)
  const open = (options: Partial<ConsoleOptions>) => (): unknown =>
    createConsole({ store, base: '/store', ...options })
  expect(open({ faults: { indexes: [], counts } })).toThrow(/only with { acts }/)
  expect(open({ acts, faults: { indexes: [] } as never })).toThrow(/what createRowCounts gives/)
})

test('the 21st who looks on is refused, and the page itself is there for all', async () => {
  const look = (): Promise<Response> => fetch(`${origin}/store/faults/events`)
  const streams = await Promise.all(Array.from({ length: 20 }, look))
  expect(streams.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200))
  const last = await look()
  expect(last.status).toBe(503)
  expect(await last.text()).toBe('Too many look on already.\n')
  expect(await page()).toContain('Break it')
})
