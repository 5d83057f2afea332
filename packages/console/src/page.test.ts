import { startCleaner } from '@looseleaf/cleaner'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { DataStore, defineIndex } from '@looseleaf/store'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { serveConsole } from '../test/serve-console.ts'
import { createConsole } from './console.ts'
import { footerOf } from './requests/footer.ts'

// Properties of all pages.

const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name' })

let store: DataStore

beforeEach(async () => {
  store = await DataStore.open({
    shards: memoryShards(2),
    indexes: [byName],
    migrate: true,
    onWarning: () => {},
  })
  onTestFinished(() => store.close())
})

/** Serves pages about an entity, its index and the trace of a request. Returns the addresses of both and the reader of the pages. */
async function serveStore() {
  const { id } = await store.put({ name: 'ada' })
  const pages = createConsole({ store, base: '/store', offer: [byName], acts: { onAct: () => {} } })
  const { text, act } = await serveConsole(pages)
  await act('/store/offered', { add: 'by_name' })
  const trace = await store.trace(async (traced) => {
    await store.get(id)
    return traced
  })
  return { id, text, xray: pages.keep(trace, 'GET /people/ada') }
}

test('all pages write times in the same format', async () => {
  const { id, text, xray } = await serveStore()
  const cleaner = startCleaner(store, { intervalMs: 10 })
  await vi.waitFor(
    async () => expect(await text('/store/shards')).toContain('The cleaner’s report of'),
    10_000,
  )
  await cleaner.stop()
  const paths = ['offered', 'shards', 'entity', `entity/${id}`, 'xray'].map((path) => `/store/${path}`)
  let times = 0
  for (const page of await Promise.all([...paths, xray].map(text))) {
    times += [...page.matchAll(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{3})? UTC/g)].length
    expect(page.replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{3})? UTC/g, '')).not.toMatch(
      /\d:\d\d:\d\d|\d{4}-\d\d-\d\d\b/,
    )
  }
  // The pages have more times than those of their footers.
  expect(times).toBeGreaterThan(paths.length + 1)
})

test('every scrollable box has a role and a unique name on its page', async () => {
  const { id, text, xray } = await serveStore()
  const paths = ['', '/offered', '/shards', '/entity', `/entity/${id}`, '/index', '/index/by_name']
  let boxes = 0
  for (const path of [...paths.map((suffix) => `/store${suffix}`), '/store/xray', xray]) {
    const tags = [...((await text(path)).match(/<[a-z]+ [^>]*tabindex="0"[^>]*>/g) ?? [])]
    const names = tags.map((tag) => / role="region" aria-label="([^"]+)"/.exec(tag)?.[1])
    expect(names).not.toContain(undefined)
    expect(new Set(names).size).toBe(names.length)
    boxes += names.length
  }
  expect(boxes).toBeGreaterThan(10)
})

test('the footer of every page names the process and the store', async () => {
  const foot =
    /<\/main><footer><p class="soft">Process (\d+) made this page at [-\d]+ [:\d]+ UTC\. Its store has 2 shards: memory 0, memory 1\./
  const { text } = await serveConsole(createConsole({ store, base: '/store', offer: [] }))
  for (const path of ['', '/xray', '/offered', '/entity', '/nothing'])
    expect(foot.exec(await text(`/store${path}`))?.[1]).toBe(`${process.pid}`)
  const many = footerOf({ shards: Array.from({ length: 1_000 }, (_, n) => ({ name: `s${n}` })) } as never)
  expect(many.text).toContain('1,000 shards: s0, s1, s2, s3, 996 more.')
})
