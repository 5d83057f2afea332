import { createConsole, type Act } from '@looseleaf/console'
import { DataStore, defineIndex, memoryShards, parseId, startCleaner } from 'looseleaf'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { visitConsole } from '../../../test/support.ts'
import { killNextWrite, stopShard } from './break-shards.ts'
import { faultsPage } from './faults-page.ts'
import { createLatencies } from '../latency/latencies.ts'
import { livePage } from '../live-page.ts'
import { createRowCounts } from './row-counts.ts'
import { createShardFaults, type ShardFaults } from './shard-faults.ts'

const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name' })
const byN = defineIndex('by_n', { properties: { n: 'integer' }, shardOn: 'id' })

let store: DataStore
let shards: ShardFaults
let texts: string[]
let closing: AbortController
const actContext = () => ({
  signal: closing.signal,
  showProgress: (text: string) => void texts.push(text),
  setOutcome: (text: string) => void texts.push(text),
})

beforeEach(async () => {
  texts = []
  closing = new AbortController()
  shards = createShardFaults(memoryShards(2))
  store = await DataStore.open({
    shards: shards.shards,
    indexes: [byName, byN],
    queryTimeMs: 50,
    migrate: true,
    onWarning: () => {},
  })
  onTestFinished(() => store.close())
})

const onShard = (number: number): string => {
  for (;;) {
    const id = store.newId()
    if (store.context.router.shardOfId(parseId(id)) === number) return id
  }
}
const discarded = async (): Promise<number> =>
  (await store.query(byN, {}, { scatter: true })).cost.rowsDiscarded

test('a stopped shard rejects all calls, the other shard none, and it comes back by itself', async () => {
  const { name } = store.context.driver.shards[0]!
  const stopped = stopShard(shards, name, 60_000, actContext())
  await expect(store.put({ n: 1 }, { id: onShard(0) })).rejects.toMatchObject({
    code: 'SHARD_UNAVAILABLE',
    shard: name,
    message: expect.stringMatching(/memory 0 is stopped on purpose until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/),
  })
  const other = onShard(1)
  await store.put({ n: 2 }, { id: other })
  expect(await store.get(other)).toMatchObject({ n: 2 })
  expect(texts).toEqual([expect.stringMatching(/^it answers again at/)])
  closing.abort()
  await stopped
  await store.put({ n: 1 }, { id: onShard(0) })
  closing = new AbortController()
  await stopShard(shards, name, 10, actContext())
  await store.put({ n: 1 }, { id: onShard(0) })
})

test('a write that dies before its commit leaves rows that readers discard', async () => {
  const killed = killNextWrite(shards, 'before its commit', 60_000, actContext())
  const pages = createConsole({ store, base: '/store' })
  const { text } = visitConsole(pages)
  const xray = await store.trace(async (trace) => {
    // The row of its name is on the other shard. That of n is in the transaction that is lost.
    const { router } = store.context
    const write = store.put({ name: 'ada', n: 1 }, { id: onShard(1 - router.shardOfKey(Buffer.from('ada'))) })
    await expect(write).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE' })
    return text(pages.keep(trace, 'POST /'))
  })
  expect(xray).toContain(
    'Failed:</span> put, with SHARD_UNAVAILABLE. One call has added index rows and committed no',
  )
  expect(xray).toContain('<g class="index write">')
  expect(await text('/store/xray')).toContain('>failed: SHARD_UNAVAILABLE<')
  await killed
  expect(texts.at(-1)).toMatch(
    /^Entity \S{36} was not committed on memory [01]; its index rows on other shards were written\.$/,
  )
  const page = await store.query(byName, { name: 'ada' })
  expect(page).toMatchObject({ items: [], cost: { rowsDiscarded: 1 } })
  expect(await discarded()).toBe(0)
  await store.put({ name: 'ada', n: 2 })
  expect((await store.query(byName, { name: 'ada' })).items).toHaveLength(1)
})

test('a write that dies after its commit leaves the rows that it has lost, until the cleaner follows', async () => {
  const { id } = await store.put({ name: 'ada', n: 1 })
  const { id: other } = await store.put({ name: 'zoe' })
  const killed = killNextWrite(shards, 'after its commit', 60_000, actContext())
  await store.put({ name: 'bob', n: 2 })
  // This update loses no row, so it is not killed.
  await store.update(other, (bag) => ({ ...bag, seen: true }))
  await store.update(id, () => ({ name: 'eve', n: 3 }))
  await killed
  expect(texts.at(-1)).toMatch(
    new RegExp(`^Entity ${id} was committed; its lost rows are still in index_by_`),
  )
  expect(await store.query(byName, { name: 'ada' })).toMatchObject({ items: [], cost: { rowsDiscarded: 1 } })
  expect(await discarded()).toBe(1)
  const cleaner = startCleaner(store, { intervalMs: 10 })
  onTestFinished(() => cleaner.stop())
  await expect.poll(discarded, { timeout: 10_000 }).toBe(0)
  expect((await store.query(byName, { name: 'eve' })).items).toHaveLength(1)
})

test.each(['before its commit', 'after its commit'] as const)(
  'without a write nothing is killed %s, and a later write succeeds',
  async (crashPoint) => {
    await expect(killNextWrite(shards, crashPoint, 10, actContext())).rejects.toThrow('There was no write')
    const { id } = await store.put({ name: 'ada', n: 1 })
    await store.update(id, () => ({ name: 'eve', n: 1 }))
    await expect.poll(discarded).toBe(0)
  },
)

test('the page has buttons that stop a shard and kill a write, which ask first', async () => {
  const done: Act[] = []
  const faults = faultsPage({ store, indexes: [], counts: createRowCounts(), shards })
  const pages = createConsole({
    store,
    base: '/store',
    acts: { onAct: (act) => done.push(act) },
    pages: [faults],
  })
  const served = visitConsole(pages)
  const act = (fields: Record<string, string>) => served.act('/store/faults', fields)
  const text = await served.text('/store/faults')
  expect(text).toContain('Kill a write after its commit')
  expect((await act({ stop: 'memory 1' })).body).toContain('gets errors from it instead of answers')
  expect(shards.refusals.size).toBe(0)
  expect((await act({ stop: 'memory 2', sure: 'yes' })).statusCode).toBe(404)
  expect((await act({ kill: 'a write of thirst', sure: 'yes' })).statusCode).toBe(404)
  const question = (await act({ kill: 'a write before its commit' })).body
  expect(question).toContain('<h1>Kill a write before its commit?</h1>')
  expect(question).toContain('its caller gets an error')

  expect((await act({ stop: 'memory 1', sure: 'yes' })).statusCode).toBe(303)
  expect((await act({ kill: 'a write before its commit', sure: 'yes' })).statusCode).toBe(303)
  const page = await served.text('/store/faults')
  expect(page).toMatch(/memory 1 is stopped<\/strong> since [-\d]+ [:\d]+ UTC: it answers again at/)
  expect(page).toMatch(
    /Armed to kill a write before its commit<\/strong> since [-\d]+ [:\d]+ UTC: it waits for a write/,
  )
  await expect(store.put({ n: 1 }, { id: onShard(1) })).rejects.toThrow(/is stopped on purpose/)
  // A running act replaces its button, with a button that ends it.
  expect(page).toContain('<strong>memory 1 is stopped</strong> since')
  expect(page).not.toContain('>Stop memory 1<')
  expect((await act({ end: 'memory 0' })).statusCode).toBe(409)
  const early = await act({ end: 'memory 1' })
  expect(early.headers.location).toBe('/store/faults#stop-memory-1')
  const after = await served.text('/store/faults')
  expect(after).toContain('>Ended; it answers again.<')
  expect(after).toContain('<div data-news="stop memory 1: Ended; it answers again.">')
  expect(after).toContain('id="stop-memory-1" name="stop" value="memory 1">Stop memory 1<')
  expect(after).toContain('<strong>Armed to kill a write before its commit</strong> since')
  await act({ end: 'a write before its commit' })
  expect(await served.text('/store/faults')).toContain('>It was cancelled.<')
  await store.put({ n: 1 }, { id: onShard(1) })
  await act({ stop: 'memory 0', sure: 'yes' })
  pages.close()
  await expect.poll(() => shards.refusals.size).toBe(0)
  expect(done.map(({ name, failure }) => [name, failure])).toContainEqual(['stop', undefined])
})

test('the page of indexes has buttons that bring stopped shards back', async () => {
  const faults = faultsPage({ store, indexes: [], counts: createRowCounts(), shards })
  const live = livePage({ store, offer: [byName], latencies: createLatencies() })
  const served = visitConsole(
    createConsole({ store, base: '/store', acts: { onAct: () => {} }, pages: [live, faults] }),
  )
  for (const stop of ['memory 0', 'memory 1']) await served.act('/store/faults', { stop, sure: 'yes' })
  const stopped = await served.text('/store/live')
  expect(stopped).toMatch(/The state of the indexes is unknown: The shard memory \d is stopped on purpose/)
  for (const name of ['memory 0', 'memory 1']) {
    expect(stopped).toContain(`<strong>“stop ${name}” is running</strong> since`)
    expect(stopped).toContain(`name="end" value="${name}">Bring ${name} back</button>`)
    expect((await served.act('/store/live', { end: name })).statusCode).toBe(303)
  }
  expect(shards.refusals.size).toBe(0)
  const back = await served.text('/store/live')
  expect(back).toContain('by_name: ready')
  expect(back).not.toContain('name="end"')
})
