import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { hasBrowser, openBrowser, signIn } from './browser.ts'
import { openLiveSite, type LiveSite } from './live-site.ts'

// Tabs whose stream of events is cut off, and events that a page does not show.

let site: LiveSite
let browser: Browser
let context: BrowserContext
let page: Page

beforeAll(async () => {
  if (!hasBrowser) return
  site = await openLiveSite()
  await site.post('noor', 'The first message')
  await site.post('noor', 'The first link', 'https://example.org/first')
  browser = await openBrowser()
})
afterAll(async () => {
  if (!hasBrowser) return
  await browser.close()
  await site.close()
})
beforeEach(async () => {
  if (!hasBrowser) return
  context = await browser.newContext({ baseURL: site.url })
  onTestFinished(() => context.close())
  page = await context.newPage()
  await signIn(page, 'Mira')
})

/** Expects the text of the switch, and calls `prepare` before each look at it. */
async function expectSwitch(on: Page, text: 'Live' | 'Not live', prepare = () => {}): Promise<void> {
  const look = (): Promise<string> => {
    prepare()
    return on.getByRole('switch').innerText()
  }
  await expect.poll(look, { timeout: 10_000 }).toBe(text)
}

/** Begins to listen for a message of another tab. The page then has a promise `heard`. */
async function listen(on: Page, text: string): Promise<void> {
  await on.evaluate((message) => {
    const heard = new Promise<void>((resolve) => {
      new BroadcastChannel('live mira').addEventListener('message', ({ data }) => {
        if (data === message) resolve()
      })
    })
    Object.assign(window, { heard })
  }, text)
}

const offered = (on: Page, text: string) => on.getByRole('button', { name: text, exact: true })

test.skipIf(!hasBrowser)('all tabs say when the site does not answer', async () => {
  await page.goto('/')
  const other = await context.newPage()
  await other.goto('/')
  await context.route('**/live?*', (route) => route.fulfill({ contentType: 'text/event-stream', body: '' }))
  for (const tab of [page, other]) {
    await expectSwitch(tab, 'Not live', () => {
      // Again, since a stream that was requested before the route may reach the site after it.
      site.app.server.closeAllConnections()
    })
  }
  await context.unroute('**/live?*')
  for (const tab of [page, other]) await expectSwitch(tab, 'Live')
})

test.skipIf(!hasBrowser)('all tabs say when their session has ended', async () => {
  await page.goto('/')
  const tabs = [page, await context.newPage(), await context.newPage()] as const
  for (const tab of tabs) await tab.goto('/')
  await tabs[2].locator('.who').getByRole('button', { name: 'Sign out' }).click()
  await site.post('noor', 'After the end of the session')
  await expectSwitch(tabs[0], 'Not live')
  await expectSwitch(tabs[1], 'Not live')
})

test.skipIf(!hasBrowser)('all tabs stay live when the site refuses a stream to one of them', async () => {
  // Browsers have no locks on a site without https.
  await context.addInitScript(() => Object.defineProperty(navigator, 'locks', { value: undefined }))
  await page.goto('/')
  await expectSwitch(page, 'Live')
  const other = await context.newPage()
  let refuse = (): void => {}
  const refused = new Promise<void>((resolve) => (refuse = resolve))
  await other.route('**/live?*', async (route) => {
    await refused
    await route.fulfill({ status: 204 })
  })
  const connected = page.waitForResponse('**/live?*')
  await other.goto('/')
  await connected
  await site.post('noor', 'Before the refusal')
  await offered(page, '1 new').waitFor()
  await listen(page, '{"cut":true}')
  await listen(other, '{"live":true}')
  refuse()
  // The page hears of the refusal, and the other tab its answer.
  for (const tab of [page, other]) {
    await tab.evaluate(() => (window as unknown as { heard: Promise<void> }).heard)
    expect(await tab.getByRole('switch').innerText()).toBe('Live')
  }

  await site.post('noor', 'After the refusal')
  await offered(other, '2 new').waitFor()
  expect(await other.getByRole('switch').innerText()).toBe('Live')
})

test.skipIf(!hasBrowser)('a page of links keeps a new link behind twenty messages', async () => {
  await page.goto('/?media=link')
  await expectSwitch(page, 'Live')
  const second = await site.post('noor', 'The second link', 'https://example.org/second')
  await offered(page, '1 new').waitFor()
  for (let i = 1; i <= 20; i++) await site.post('noor', `One of many messages, ${i}`)
  const third = await site.post('noor', 'The third link', 'https://example.org/third')
  await offered(page, '2 new').click()
  await offered(page, 'New entries above').waitFor()
  const shown = await page.locator('article').evaluateAll((articles) => articles.map(({ id }) => id))
  expect(shown.slice(0, 2)).toEqual([`e-${third}`, `e-${second}`])
})
