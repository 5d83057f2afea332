import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { indexComesAndGoes } from './index-comes-and-goes.ts'
import { addOffered, createVisitor, openTestSite, textOf, type TestSite } from './support.ts'

let site: TestSite
beforeAll(async () => {
  site = await openTestSite()
})
afterAll(() => site.close())

test('an index is added and dropped while people post, and pages show its part only while it is ready', async () => {
  expect(await indexComesAndGoes()).toEqual([])
})

test('planted dangling rows appear on no page, are counted in its foot, and are cleaned', async () => {
  const [reader, window] = [createVisitor(site.app), createVisitor(site.app)]
  const home = async (): Promise<{ entries: string[]; discarded: number }> => {
    const { body } = await reader.get('/')
    const entries = [...body.matchAll(/<article [^>]*id="([^"]+)"/g)].map(([, id]) => id!)
    return { entries, discarded: Number(/discarded (\d+) rows?/.exec(textOf(body))![1]) }
  }
  const before = await home()
  expect(before.entries.length).toBeGreaterThan(10)
  await window.get('/store/faults')
  expect((await window.post('/store/faults', { plant: 'entry_by_time' })).statusCode).toBe(303)
  const broken = await home()
  expect(broken.entries).toEqual(before.entries)
  expect(broken.discarded).toBeGreaterThan(10)
  expect(textOf((await window.get('/store/faults')).body)).toMatch(/planted\s*40 rows/)
  expect((await window.post('/store/faults', { clean: 'entry_by_time' })).statusCode).toBe(303)
  // The cleaning gives way to pages, and may go on behind the answer.
  await vi.waitFor(
    async () => expect(textOf((await window.get('/store/faults')).body)).toContain('40 rows deleted.'),
    { timeout: 60_000 },
  )
  expect(await home()).toEqual(before)
})

test('the page that the window names for a breakable index reads that index', async () => {
  const [reader, window] = [createVisitor(site.app), createVisitor(site.app)]
  const { body } = await window.get('/store/faults')
  const named = [...body.matchAll(/<section><h2>(\w+)<\/h2><p>[^<]* See <a href="([^"]+)"/g)]
  expect(named.map(([, index]) => index)).toEqual(['entry_by_time', 'person_by_time'])
  for (const [, index = '', path = ''] of named) {
    const discarded = async (): Promise<number> =>
      Number(/discarded (\d+) rows?/.exec(textOf((await reader.get(path)).body))![1])
    expect(await discarded()).toBe(0)
    expect((await window.post('/store/faults', { plant: index })).statusCode).toBe(303)
    expect(await discarded()).toBeGreaterThan(10)
    expect(site.stage.rowCounts.of(index).discarded).toBeGreaterThan(10)
  }
})

test('the page that the window names for an offered index reads that index once it is ready', async () => {
  const visitor = createVisitor(site.app)
  const { body } = await visitor.get('/store/live')
  const named = [...body.matchAll(/<section><h2>(\w+): absent<\/h2>\s*<p>[^<]* See <a href="([^"]+)"/g)]
  expect(named.map(([, index]) => index)).toEqual(['entry_by_link'])
  const [[, , path = ''] = []] = named
  const ofPage = async (): Promise<string> => textOf((await visitor.get(path)).body)
  expect(await ofPage()).not.toContain('Also shared by')
  await addOffered(site.site)
  expect(await ofPage()).toContain('Also shared by')
})

test('a site with an origin has no window and no acts', async () => {
  const own = await openTestSite({ sample: false, origin: 'https://feed.example.org' })
  try {
    const visitor = createVisitor(own.app)
    expect((await visitor.get('/store/live')).statusCode).toBe(404)
    await visitor.get('/sign-in')
    expect((await visitor.post('/store/live', { add: 'entry_by_link' })).statusCode).toBe(404)
    expect(own.site.data.entries.byLink.isReady()).toBe(false)
  } finally {
    await own.close()
  }
})

test('the window rejects form tokens of the site', async () => {
  const own = await openTestSite({ sample: false })
  try {
    const visitor = createVisitor(own.app)
    await visitor.get('/sign-in')
    expect((await visitor.post('/store/live', { add: 'entry_by_link' })).statusCode).toBe(403)
    expect((await own.site.store.indexes()).map(({ name }) => name)).not.toContain('entry_by_link')
  } finally {
    await own.close()
  }
})
