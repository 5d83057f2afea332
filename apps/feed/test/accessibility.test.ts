import { memoryShards } from 'looseleaf'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { hasBrowser, openBrowser } from './browser.ts'
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
  site.app.server.closeAllConnections()
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
