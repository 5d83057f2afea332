import { gzipSync } from 'node:zlib'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshEntry } from '../src/domain/entries/fresh-entry.ts'
import { itemOf } from '../src/domain/home/commands.ts'
import { inboxItemId } from '../src/kinds/inbox-item.ts'
import { hasBrowser, openBrowser, signIn } from './browser.ts'
import { createVisitor, openTestSite, type TestSite } from './support.ts'

let site: TestSite
let browser: Browser
let page: Page
beforeAll(async () => {
  site = await openTestSite({ hasStrip: true })
  await fillHome()
  if (!hasBrowser) return
  const baseURL = await site.app.listen({ port: 0, host: '127.0.0.1' })
  browser = await openBrowser()
  page = await (await browser.newContext({ baseURL })).newPage()
})
afterAll(async () => {
  if (hasBrowser) await browser.close()
  await site.close()
})

/** Fills the home page with entries that are as long as entries can be, with comments. */
async function fillHome(): Promise<void> {
  const { data } = site.site
  const people = (await data.people.byTime.page({}, { limit: 20, scatter: true })).items
  const { items } = await data.entries.byTime.page({}, { limit: 100, scatter: true })
  const known = [...new Set(items.flatMap(({ title, body }) => `${title} ${body ?? ''}`.split(/\s+/)))]
  // Words in an order that does not repeat.
  const words = (seed: number, length: number): string =>
    Array.from({ length: length / 2 }, (_, i) => known[(seed * 7919 + i * i * 31 + i * 4729) % known.length])
      .join(' ')
      .slice(0, length)
  const entries = await data.entries.putMany(
    people.map(({ id }, i) => {
      const published = new Date(Date.now() - i)
      const link = i % 2 === 0 ? `https://example.org/${i}` : undefined
      const media = [{ url: `https://example.org/${i}.mp3`, type: 'audio' as const }]
      const text = { title: words(i, 500), body: words(i + 100, 1000), tags: ['one', 'two'] }
      return freshEntry({ ...text, link, media, person_id: id, published }, published)
    }),
  )
  const answers = entries.flatMap((entry, i) =>
    people.slice(0, 4).map(({ id }, j) => ({ entry_id: entry.id, person_id: id, number: i * 4 + j })),
  )
  await data.comments.insertMany(
    answers.map(({ number, ...by }) => ({ ...by, text: words(number, 1000), commented: new Date() })),
  )
  await data.likes.insertMany(answers.map(({ number: _, ...by }) => ({ ...by, liked: new Date() })))
  const mira = people.find(({ name }) => name === 'mira')?.id ?? ''
  await data.inbox.insertMany(
    entries.map((entry) => ({
      id: inboxItemId(mira, entry.id),
      ...itemOf(entry, mira, [entry.channel_id], new Date()),
    })),
  )
}

/** Largest size of the home page, in bytes of gzip. */
const MAX_BYTES = 12 * 1024

test('the home page with the longest entries is small, for a visitor and a signed-in person', async () => {
  const visitor = createVisitor(site.app)
  const sizeOf = async (path: string): Promise<number> => gzipSync((await visitor.get(path)).body).length
  const anonymous = await sizeOf('/')
  await visitor.signIn('mira')
  const sizes = [anonymous, await sizeOf('/'), await sizeOf('/everything')]
  expect(sizes.filter((size) => size > MAX_BYTES)).toEqual([])
})

test.skipIf(!hasBrowser)('the home page has few tab stops, and no long accessible name', async () => {
  for (const name of [undefined, 'Mira Saltmarsh']) {
    if (name !== undefined) await signIn(page, name)
    await page.goto('/')
    expect(await page.locator('article').count()).toBe(20)
    const stops = await tabStops()
    expect(stops).toBeLessThanOrEqual(80)
    expect((await namesOf()).filter((each) => each.length > 60)).toEqual([])
  }
})

function tabStops(): Promise<number> {
  const focusable = 'a[href], button, input:not([type=hidden]), select, textarea, summary'
  return page.evaluate(
    (selector) =>
      [...document.querySelectorAll<HTMLElement>(selector)].filter(
        (element) => element.tabIndex >= 0 && element.checkVisibility(),
      ).length,
    focusable,
  )
}

/** Returns the accessible names of links, buttons, fields, headings and regions. */
async function namesOf(): Promise<string[]> {
  const session = await page.context().newCDPSession(page)
  const { nodes } = await session.send('Accessibility.getFullAXTree')
  await session.detach()
  const texts = new Set(['StaticText', 'InlineTextBox', 'ListMarker'])
  return nodes
    .filter(({ ignored, role }) => !ignored && !texts.has(String(role?.value)))
    .flatMap(({ name }) => (name?.value === undefined ? [] : [String(name.value)]))
}

const WIDTHS = [360, 768, 1440, 1920]

test.skipIf(!hasBrowser)('tabs stay at their place between pages, and when a person signs in', async () => {
  const boxesOf = async (path: string): Promise<unknown> => {
    await page.goto(path)
    const boxes: unknown[] = []
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 800 })
      boxes.push(await page.locator('nav.tabs').boundingBox())
    }
    return boxes
  }
  await page.context().clearCookies()
  const ofHome = await boxesOf('/')
  for (const path of ['/people', '/import', '/sign-in', '/nothing'])
    expect({ path, boxes: await boxesOf(path) }).toEqual({ path, boxes: ofHome })
  await signIn(page, 'Mira Saltmarsh')
  for (const path of ['/', '/post'])
    expect({ path, boxes: await boxesOf(path) }).toEqual({ path, boxes: ofHome })
})

test.skipIf(!hasBrowser)('no page shifts its layout while it loads', async () => {
  for (const path of ['/', '/people', '/sources', '/people/mira']) {
    await page.goto(path)
    const shifts = await page.evaluate(
      () =>
        new Promise<number>((resolve) => {
          let sum = 0
          new PerformanceObserver((list) => {
            for (const entry of list.getEntries()) sum += (entry as unknown as { value: number }).value
          }).observe({ type: 'layout-shift', buffered: true })
          requestAnimationFrame(() => requestAnimationFrame(() => resolve(sum)))
        }),
    )
    expect({ path, shifts }).toEqual({ path, shifts: 0 })
  }
})
