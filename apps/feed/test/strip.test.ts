import { afterAll, beforeAll, expect, test } from 'vitest'
import { handleChange } from '../src/delivery/start-deliveries.ts'
import { hybrid } from '../src/delivery/strategy.ts'
import { postEntry } from '../src/domain/entries/entries.ts'
import { hasBrowser, openBrowser, recordShifts } from './browser.ts'
import { createVisitor, openTestSite, textOf, type TestSite } from './support.ts'

let site: TestSite
beforeAll(async () => {
  site = await openTestSite({ hasStrip: true })
  await site.app.listen({ port: 0, host: '127.0.0.1' })
})
afterAll(async () => {
  await site.close()
})

/** Returns the text of the strip of a page; undefined if it has none. */
function stripOf(html: string): string | undefined {
  const strip = /<aside class="strip".*?<\/aside>/s.exec(html)?.[0]
  return strip && textOf(strip)
}

const NUMBERS =
  /posts\/s [\d,]+ statements\/s p99 (?:–|[\d.,]+ ms) at \d\d:\d\d:\d\d expected [\d,]+ [=≠] [\d,]+ delivered Play a day/

test('each page has the numbers of its moment, also the page of an error', async () => {
  for (const path of ['/', '/people', '/search', '/sign-in', '/nothing']) {
    const { body } = await site.app.inject(path)
    expect([path, stripOf(body)]).toEqual([path, expect.stringMatching(NUMBERS)])
  }
})

test('a message is expected by its followers, and then delivered to them', async () => {
  const { data } = site.site
  const mira = await data.people.byName.first({ name: 'mira' })
  const followers = await data.follows.byChannel.count({ channel_id: mira!.id })
  const id = await postEntry(data, { person_id: mira!.id, title: 'Counted', link: undefined })
  const shown = async (): Promise<string | undefined> => stripOf((await site.app.inject('/people')).body)
  await expect.poll(shown, { timeout: 10_000 }).toContain(`expected ${followers + 1} ≠ 0 delivered`)
  await handleChange(data, { id, item: await data.entries.get(id) }, hybrid(), () => new Date())
  await expect
    .poll(shown, { timeout: 10_000 })
    .toContain(`expected ${followers + 1} = ${followers + 1} delivered`)
})

test.skipIf(!hasBrowser)(
  'a script keeps the numbers of an open page up to date, and moves nothing',
  async () => {
    const baseURL = site.app.listeningOrigin
    const browser = await openBrowser()
    try {
      const page = await (await browser.newContext({ baseURL })).newPage()
      await page.goto('/search')
      const shifts = await recordShifts(page)
      const textOfStrip = (): Promise<string> => page.locator('.strip').innerText()
      const shown = await textOfStrip()
      await expect.poll(textOfStrip, { timeout: 15_000 }).not.toBe(shown)
      expect((await textOfStrip()).replaceAll(/\s+/g, ' ')).toMatch(NUMBERS)
      expect(await shifts()).toEqual([])
    } finally {
      await browser.close()
    }
  },
)

test('a page with other numbers alone is unchanged for a browser that has it', async () => {
  const visitor = createVisitor(site.app)
  const { headers } = await visitor.get('/people')
  const again = await site.app.inject({
    url: '/people',
    headers: { 'if-none-match': headers.etag as string, cookie: visitor.cookie() },
  })
  expect(again.statusCode).toBe(304)
})

test('a site that others can reach has no strip', async () => {
  const open = await openTestSite({ sample: false, hasStrip: true, origin: 'https://feed.example.org' })
  const { body } = await open.app.inject({ url: '/', headers: { host: 'feed.example.org' } })
  await open.close()
  expect(textOf(body)).toContain('Looseleaf')
  expect(stripOf(body)).toBeUndefined()
})

test.skipIf(!hasBrowser)(
  'the button of a day shares a line with a number, at any width but that of a phone',
  async () => {
    const baseURL = site.app.listeningOrigin
    const browser = await openBrowser()
    try {
      const page = await (await browser.newContext({ baseURL, javaScriptEnabled: false })).newPage()
      await page.goto('/search')
      for (const width of [641, 700, 768, 800, 801, 900, 960, 961, 1440, 1920]) {
        await page.setViewportSize({ width, height: 300 })
        const tops = await page
          .locator('.strip > *')
          .evaluateAll((parts) => parts.map((part) => (part as HTMLElement).offsetTop))
        expect({ width, isAlone: tops.at(-1) !== tops.at(-2) }).toEqual({ width, isAlone: false })
      }
    } finally {
      await browser.close()
    }
  },
)
