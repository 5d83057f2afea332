import { memoryShards } from 'looseleaf'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { hasBrowser, openBrowser, signIn } from './browser.ts'
import { openTestSite, type TestSite } from './support.ts'

// Pages with the keyboard, large letters, a palette of the system, and on paper.

let site: TestSite
let url: string
let browser: Browser

beforeAll(async () => {
  if (!hasBrowser) return
  site = await openTestSite({ shards: memoryShards(2), hasStrip: true })
  url = await site.app.listen({ port: 0, host: '127.0.0.1' })
  browser = await openBrowser()
})

afterAll(async () => {
  if (!hasBrowser) return
  await browser.close()
  await site.close()
})

/** Opens a page of a new browser context, until the end of the test. */
async function openPage(options: Parameters<Browser['newContext']>[0] = {}): Promise<Page> {
  const context = await browser.newContext({ baseURL: url, reducedMotion: 'reduce', ...options })
  onTestFinished(() => context.close())
  return context.newPage()
}

test.skipIf(!hasBrowser)('the focus stays where it is in the window while its numbers change', async () => {
  const page = await openPage()
  await page.goto('/store/live')
  const part = page.locator('#live')
  const focused = [
    part.getByRole('region', { name: 'Plot of latencies' }),
    part.getByRole('link').first(),
    part.getByRole('button', { name: 'Add entry_by_link' }),
  ]
  for (const element of focused) {
    await element.focus()
    const shown = await part.getAttribute('data-last')
    await expect.poll(() => part.getAttribute('data-last'), { timeout: 10_000 }).not.toBe(shown)
    expect(await element.evaluate((now) => now === document.activeElement)).toBe(true)
  }
})

test.skipIf(!hasBrowser)('the window says when it has no connection, and goes on by itself', async () => {
  const page = await openPage()
  const ended = { status: 200, contentType: 'text/event-stream', body: '' }
  await page.route('**/store/live/events', (route) => route.fulfill(ended))
  await page.goto('/store/live')
  const alert = page.getByRole('alert')
  await alert.getByText('This page has no connection').waitFor()
  await page.unroute('**/store/live/events')
  await expect.poll(() => alert.isVisible(), { timeout: 10_000 }).toBe(false)
})

const PAGES = [
  '/',
  '/people/mira',
  '/settings',
  '/search',
  '/import',
  '/nothing',
  '/store/live',
  '/store/shards',
]

test.skipIf(!hasBrowser)('pages with letters of twice the size fit a screen of 320 px', async () => {
  const page = await openPage({ viewport: { width: 320, height: 800 } })
  await signIn(page, 'Noor Tamarind')
  const session = await page.context().newCDPSession(page)
  // The list of X-rays has earlier ones of the same page.
  for (const path of ['/', '/', ...PAGES, '/store/xray']) {
    await page.goto(path)
    await session.send('Page.setFontSizes', { fontSizes: { standard: 32, fixed: 26 } })
    const [size, over] = await page.evaluate(() => [
      getComputedStyle(document.body).fontSize,
      document.documentElement.scrollWidth - window.innerWidth,
    ])
    expect({ path, size, over }).toEqual({ path, size: '32px', over: 0 })
  }
})

test.skipIf(!hasBrowser)(
  'the link that skips to the content is out of sight until it has the focus',
  async () => {
    const page = await openPage({ viewport: { width: 320, height: 800 } })
    await page.goto('/people')
    const session = await page.context().newCDPSession(page)
    await session.send('Page.setFontSizes', { fontSizes: { standard: 40, fixed: 32 } })
    const link = page.getByRole('link', { name: 'Skip to the content' })
    const bottomOf = (): Promise<number> => link.evaluate((skip) => skip.getBoundingClientRect().bottom)
    expect(await bottomOf()).toBeLessThanOrEqual(0)
    await page.keyboard.press('Tab')
    expect(await bottomOf()).toBeGreaterThan(40)
  },
)

test.skipIf(!hasBrowser)('no button is less than 24 px high', async () => {
  const page = await openPage({ viewport: { width: 1280, height: 800 } })
  await signIn(page, 'Noor Tamarind')
  await page.goto('/')
  const xray = await page.locator('footer a[href^="/store/xray/"]').first().getAttribute('href')
  for (const path of [...PAGES, '/following', '/store/xray', String(xray)]) {
    await page.goto(path)
    const low = await page
      .locator('button:visible, summary:visible')
      .evaluateAll((buttons) =>
        buttons
          .filter((button) => button.getBoundingClientRect().height < 24)
          .map((button) => button.outerHTML),
      )
    expect({ path, low }).toEqual({ path, low: [] })
  }
})

test.skipIf(!hasBrowser)('the keyboard focus is never under the bar of live arrival', async () => {
  const page = await openPage({ viewport: { width: 390, height: 700 } })
  await signIn(page, 'Noor Tamarind')
  await page.goto('/')
  await page.locator('.live-bar').waitFor()
  const hidden: string[] = []
  for (let stop = 0; stop < 40; stop++) {
    await page.keyboard.press('Tab')
    const covered = await page.evaluate(() => {
      const focused = document.activeElement as HTMLElement
      const { bottom } = focused.getBoundingClientRect()
      const bar = document.querySelector('.live-bar') as HTMLElement
      return !bar.contains(focused) && bottom > bar.getBoundingClientRect().top ? focused.innerText : ''
    })
    if (covered !== '') hidden.push(covered)
  }
  expect(hidden).toEqual([])
})

test.skipIf(!hasBrowser)('a palette of the system keeps states and legends apart', async () => {
  const page = await openPage({ forcedColors: 'active' })
  const dotOf = (): Promise<string> =>
    page
      .getByRole('switch', { name: 'Live' })
      .evaluate((button) => getComputedStyle(button, '::before').backgroundColor)
  await page.goto('/')
  const button = page.getByRole('switch', { name: 'Live' })
  const ink = await button.evaluate((element) => getComputedStyle(element).color)
  expect(await dotOf()).toBe(ink)
  await button.click()
  expect(await dotOf()).not.toBe(ink)
  await page.goto('/store/live')
  const swatches = await page
    .locator('.key i')
    .evaluateAll((marks) => marks.map((mark) => getComputedStyle(mark).backgroundColor))
  expect(swatches.length).toBeGreaterThan(2)
  expect(new Set(swatches).size).toBe(swatches.length)
})

test.skipIf(!hasBrowser)('a page is printed in dark ink, also from a dark screen', async () => {
  const page = await openPage({ colorScheme: 'dark' })
  const ink = (): Promise<string> => page.evaluate(() => getComputedStyle(document.body).color)
  for (const path of ['/people', '/store/shards']) {
    await page.goto(path)
    await page.emulateMedia({ media: 'screen' })
    expect(await ink()).toBe('rgb(236, 230, 217)')
    await page.emulateMedia({ media: 'print' })
    expect(await ink()).toBe('rgb(38, 35, 30)')
  }
})
