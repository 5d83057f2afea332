import { createConsole, type ActPage } from '@looseleaf/console'
import { markup } from '@looseleaf/console/kit'
import { DataStore, memoryShards } from 'looseleaf'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { visitConsole } from '../../test/support.ts'
import { growPage } from './grow-page.ts'
import { createLatencies } from './latency/latencies.ts'

/** A clock whose waits are a hundredth of their length. */
const fast = {
  now: Date.now,
  elapsed: () => performance.now() * 100,
  sleep: (milliseconds: number) => new Promise<void>((resolve) => setTimeout(resolve, milliseconds / 100)),
}

test('a shard is drained after a question and removed by their buttons, and its entities are on the others', async () => {
  await using store = await DataStore.open({
    shards: memoryShards(3),
    migrate: true,
    time: fast,
    onWarning: () => {},
  })
  const put = await store.putMany(Array.from({ length: 30 }, (_, n) => ({ n })))
  const grow = growPage({ store, latencies: createLatencies() })
  const pages = createConsole({ store, base: '/store', acts: { onAct: () => {} }, pages: [grow] })
  const served = visitConsole(pages)
  const page = (): Promise<string> => served.text('/store/grow')
  expect(await page()).toContain('Drain memory 2')
  expect((await served.act('/store/grow', { drain: 'memory 2' })).body).toContain('move to the other shards')
  expect((await served.act('/store/grow', { drain: 'memory 2', sure: 'yes' })).statusCode).toBe(303)
  await expect
    .poll(page, { timeout: 30_000, interval: 50 })
    .toMatch(/moved\. The longest pause of a write was/)
  expect((await store.shards.list())[2]).toMatchObject({ state: 'draining', buckets: 0 })
  expect(await page()).toMatch(/Moves that are over.*done at/s)

  expect(await page()).toContain('Remove memory 2')
  expect((await served.act('/store/grow', { remove: 'memory 2' })).statusCode).toBe(303)
  await expect
    .poll(async () => (await store.shards.list())[2]?.state, { timeout: 30_000, interval: 50 })
    .toBe('removed')
  expect(await page()).not.toContain('Remove memory 2')
  for (const [n, { id }] of put.entries()) expect(await store.get(id)).toMatchObject({ n })
}, 60_000)

test('the button that adds a shard in memory names no database', async () => {
  await using store = await DataStore.open({ shards: memoryShards(2), migrate: true, onWarning: () => {} })
  const grow = growPage({ store, latencies: createLatencies() })
  const pages = createConsole({ store, base: '/store', acts: { onAct: () => {} }, pages: [grow] })
  const text = await visitConsole(pages).text('/store/grow')
  expect(text).toContain('Add a shard in memory')
  expect(text).not.toContain('Add memory 2')
  pages.close()
})

test('an act of another page is shown once, and leaves the buttons of moves', async () => {
  await using store = await DataStore.open({ shards: memoryShards(2), migrate: true, onWarning: () => {} })
  const waiting: ActPage = {
    name: 'wait',
    label: 'Wait',
    title: 'Wait',
    lead: markup`Waits.`,
    acts: ['wait'],
    part: async () => ({ body: markup`<p>Nothing.</p>` }),
    plan: (name, about) => ({ name, about, endLabel: 'Cancel', run: ({ signal }) => once(signal, 'abort') }),
  }
  const grow = growPage({ store, latencies: createLatencies() })
  const pages = createConsole({ store, base: '/store', acts: { onAct: () => {} }, pages: [grow, waiting] })
  const served = visitConsole(pages)
  await served.act('/store/wait', { wait: 'for a write' })
  const text = await served.text('/store/grow')
  expect(text.match(/is running/g)).toHaveLength(1)
  expect(text).toContain('Rebalance the shards')
  pages.close()
})
