import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import axe from 'axe-core'
import type { Browser, BrowserContext, Cookie, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { hasBrowser, openBrowser, recordShifts, signIn } from './browser.ts'
import { openLiveSite, type LiveSite } from './live-site.ts'

let site: LiveSite
let browser: Browser
/** A context, a page and a session of Mira for all tests, because new ones take most of a second. */
let context: BrowserContext
let page: Page
let session: Cookie[]
const complaints: string[] = []

beforeAll(async () => {
  if (!hasBrowser) return
  // A second stream of a session would be refused, so tabs have to share one.
  site = await openLiveSite({ limits: { perProcess: 10, perSession: 1, perAddress: 2 } })
  for (let i = 1; i <= 12; i++) await site.post('noor', `Message ${i}`)
  browser = await openBrowser()
  context = await browser.newContext({ baseURL: site.url, viewport: { width: 900, height: 500 } })
  page = await newPage()
  await signIn(page, 'Mira')
  session = await context.cookies()
})
afterAll(async () => {
  if (!hasBrowser) return
  await browser.close()
  await site.close()
})
beforeEach(async () => {
  if (!hasBrowser) return
  await page.evaluate(() => localStorage.clear())
  await context.clearCookies()
  await context.addCookies(session)
  await page.goto('/')
  await page.getByRole('switch', { name: 'Live' }).waitFor()
})
afterEach(() => {
  const found = complaints.splice(0)
  if (found.length > 0) throw new Error(`The browser complained: ${found.join('; ')}`)
})

async function newPage(): Promise<Page> {
  const opened = await context.newPage()
  opened.on('pageerror', ({ message }) => complaints.push(message))
  opened.on('console', (message) => {
    // A refused form has an error status, which a test may ask for.
    if (message.type() === 'error' && !message.text().includes('status of 4')) complaints.push(message.text())
  })
  return opened
}

const pillOf = (on: Page) => on.locator('.pill')
const focusedId = (): Promise<string> => page.evaluate(() => document.activeElement?.id ?? '')
const idOf = (at: number): Promise<string | null> => page.locator('article').nth(at).getAttribute('id')

test('the script is small', () => {
  const script = readFileSync(new URL('../public/live.js', import.meta.url))
  expect(gzipSync(script).length).toBeLessThan(4.5 * 1024)
})

test.skipIf(!hasBrowser)(
  'new entries are offered in all tabs, and move nothing when they are shown',
  async () => {
    const other = await newPage()
    await other.goto('/')
    await page.bringToFront()
    const shifts = await recordShifts(page)
    const unread = Number.parseInt(await page.locator('.tabs .count').innerText(), 10)
    const read = page.locator('article').nth(6)
    await read.evaluate((item) => item.scrollIntoView({ behavior: 'instant' }))
    const article = page.locator(`#${await read.getAttribute('id')}`)
    const topOf = (): Promise<number> => article.evaluate((item) => item.getBoundingClientRect().top)
    const place = await topOf()
    const ids = [await site.post('noor', 'First arrival'), await site.post('noor', 'Second arrival')]
    for (const tab of [page, other]) {
      await tab.getByRole('button', { name: '2 new' }).waitFor()
      expect(await tab.title()).toBe('(2) Looseleaf')
      expect(Number.parseInt(await tab.locator('.tabs .count').innerText(), 10)).toBe(unread + 2)
    }
    expect(await topOf()).toBe(place)

    await pillOf(page).click()
    await page.getByRole('button', { name: 'New entries above' }).waitFor()
    expect(await page.title()).toBe('Looseleaf')
    expect(await idOf(0)).toBe(`e-${ids[1]}`)
    expect(await idOf(1)).toBe(`e-${ids[0]}`)
    expect(await topOf()).toBeCloseTo(place, 0)
    expect(await shifts()).toEqual([])

    await page.keyboard.press('.')
    expect(await focusedId()).toBe(`e-${ids[1]}`)
    expect(await page.getByRole('feed').getAttribute('aria-busy')).toBeNull()
    expect(await page.locator('article').nth(2).getAttribute('aria-posinset')).toBe('3')
    await other.close()
  },
)

test.skipIf(!hasBrowser)('twenty new entries are counted as twenty or more', async () => {
  for (let i = 1; i <= 19; i++) await site.post('noor', `One of many, ${i}`)
  await page.getByRole('button', { name: '19 new', exact: true }).waitFor()
  for (let i = 20; i <= 21; i++) await site.post('noor', `One of many, ${i}`)
  await page.getByRole('button', { name: '20+ new', exact: true }).waitFor()
  expect(await page.title()).toBe('(20+) Looseleaf')
})

test.skipIf(!hasBrowser)('the times on a page are current again when new entries are shown', async () => {
  const time = page.locator('article').nth(2).locator('time')
  await time.evaluate((shown) => (shown.textContent = 'an outdated time'))
  const read = await page.locator('article').nth(2).getAttribute('id')
  await site.post('noor', 'Later than these')
  await pillOf(page).click()
  await page.getByRole('button', { name: 'New entries above' }).waitFor()
  expect(await page.locator(`#${read} time`).innerText()).toMatch(/ ago$|^just now$/)
  expect(await page.getByText('an outdated time').count()).toBe(0)
})

test.skipIf(!hasBrowser)('an entry keeps its time on a page when the site no longer shows one', async () => {
  const card = page.locator('article').nth(2)
  const time = await card.locator('time').innerText()
  const id = String(await card.getAttribute('id'))
  await page.route('**/', async (route) => {
    const response = await route.fetch()
    const html = await response.text()
    const ofCard = html.indexOf(`id="${id}"`)
    const undated = html.slice(ofCard).replace(/<time.*?<\/time>/, 'undated')
    await route.fulfill({ response, body: html.slice(0, ofCard) + undated })
  })
  await site.post('noor', 'Later than the undated')
  await pillOf(page).click()
  await page.getByRole('button', { name: 'New entries above' }).waitFor()
  await page.unroute('**/')
  expect(await page.locator(`#${id} .when`).innerText()).toBe(time)
})

test.skipIf(!hasBrowser)(
  'a paused browser gets no events, also on its next page, until it goes on',
  async () => {
    const pause = page.getByRole('switch', { name: 'Live' })
    expect(await pause.getAttribute('aria-checked')).toBe('true')
    await pause.click()
    await page.goto('/')
    expect(await pause.getAttribute('aria-checked')).toBe('false')
    const others = await browser.newContext({ baseURL: site.url })
    const visitor = await others.newPage()
    await visitor.goto('/')
    await site.post('noor', 'During the pause')
    await visitor.getByRole('button', { name: '1 new' }).waitFor()
    await others.close()
    expect(await pillOf(page).isVisible()).toBe(false)
    await pause.click()
    await page.getByRole('button', { name: '1 new' }).waitFor()
  },
)

test.skipIf(!hasBrowser)('keys move between entries, like, hide, undo and open', async () => {
  await page.keyboard.press('j')
  expect(await focusedId()).toBe(await idOf(0))
  await page.keyboard.press('j')
  await page.keyboard.press('j')
  await page.keyboard.press('k')
  const id = (await idOf(1))!
  expect(await focusedId()).toBe(id)
  const card = page.locator(`#${id}`)
  expect(await card.evaluate((article) => getComputedStyle(article).outlineStyle)).toBe('solid')

  await page.keyboard.press('l')
  await card.getByText('You like this').waitFor()
  expect(await focusedId()).toBe(id)
  await page.keyboard.press('l')
  await card.getByText('You like this').waitFor({ state: 'detached' })

  const url = page.url()
  await page.keyboard.press('h')
  await page.locator('.entries .notice').waitFor()
  expect(await card.count()).toBe(0)
  await page.keyboard.press('u')
  await card.waitFor()
  expect(await idOf(1)).toBe(id)
  expect(page.url()).toBe(url)

  // Keys with a modifier, and letters that are typed, act on nothing.
  await page.keyboard.press('Control+l')
  await page.getByLabel('Share something').fill('')
  await page.keyboard.type('jlh?')
  expect(await page.getByLabel('Share something').inputValue()).toBe('jlh?')
  await page.getByLabel('Share something').fill('')

  await card.focus()
  await page.keyboard.press('c')
  await page.waitForURL(`**/entries/${id.slice(2)}#comment`)
  await expect.poll(focusedId).toBe('comment')
  await page.goto(`/entries/${id.slice(2)}`)
  await page.keyboard.press('c')
  expect(await focusedId()).toBe('comment')
  await page.goto('/')
  await card.focus()
  await page.keyboard.press('Enter')
  await page.waitForURL(`**/entries/${id.slice(2)}`)
})

test.skipIf(!hasBrowser)('the keys are described, and can be turned off', async () => {
  await page.keyboard.press('?')
  await page.getByRole('dialog', { name: 'Keys' }).getByText('previous entry').waitFor()
  await page.getByLabel('Use these keys').uncheck()
  await page.keyboard.press('Escape')
  await page.goto('/')
  await page.keyboard.press('j')
  expect(await focusedId()).toBe('')
})

test.skipIf(!hasBrowser)(
  'a draft stays until it is posted, and a refused like is told in words',
  async () => {
    const entry = (await idOf(0))!.slice(2)
    await page.goto(`/entries/${entry}`)
    const field = page.getByLabel('Your comment')
    await field.fill('Half a thought')
    await page.goto('/')
    await page.goto(`/entries/${entry}`)
    expect(await field.inputValue()).toBe('Half a thought')
    await page.getByRole('button', { name: 'Comment' }).click()
    await page.waitForURL('**#c-*')
    expect(await field.inputValue()).toBe('')
    await page.goto(`/entries/${entry}`)
    expect(await field.inputValue()).toBe('')

    // The session ends in another tab.
    await context.clearCookies({ name: 'looseleaf_session' })
    await page.keyboard.press('l')
    await page.getByRole('alert').getByText('That form is out of date').waitFor()
    await context.addCookies(session)
    await page.keyboard.press('l')
    await page.getByText('You like this').waitFor()
    expect(await page.getByRole('alert').isVisible()).toBe(false)
  },
)

test.skipIf(!hasBrowser)(
  'the key of likes leads a visitor to the sign-in page, and back to the entry',
  async () => {
    const strangers = await browser.newContext({ baseURL: site.url })
    const visitor = await strangers.newPage()
    await visitor.goto('/')
    await visitor.keyboard.press('j')
    const id = await visitor.evaluate(() => document.activeElement?.id)
    await visitor.keyboard.press('l')
    await visitor.waitForURL('**/sign-in*')
    await visitor.getByRole('button', { name: 'Oskar' }).click()
    await visitor.waitForURL(`**/#${id}`)
    expect(await visitor.getByText('Signed in as').count()).toBe(1)
    await strangers.close()
  },
)

test.skipIf(!hasBrowser)('an edit leaves no draft behind', async () => {
  await page.goto('/post')
  await page.getByLabel('Share something').fill('First thought')
  await page.getByRole('button', { name: 'Post' }).click()
  await page.getByRole('link', { name: 'Edit' }).click()
  await page.getByLabel('Your message').fill('Second thought')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('heading', { name: 'Second thought' }).waitFor()
  expect(await page.evaluate(() => Object.keys(localStorage))).toEqual([])
})

test.skipIf(!hasBrowser)('going back after a sign-out shows no own page', async () => {
  // A session of its own, because it ends.
  await context.clearCookies()
  await signIn(page, 'Mira')
  await page.goto('/settings')
  await page.locator('.who').getByRole('button', { name: 'Sign out' }).click()
  await page.waitForURL('**/')
  await page.goBack()
  await page.waitForURL('**/sign-in?back=%2Fsettings')
  expect(await page.getByText('Signed-in browsers').count()).toBe(0)
})

test.skipIf(!hasBrowser)('the parts of the script are accessible in both color schemes', async () => {
  await site.post('noor', 'To be announced')
  await pillOf(page).waitFor()
  await page.keyboard.press('j')
  await page.keyboard.press('h')
  await page.locator('.entries .notice').waitFor()
  await page.evaluate(axe.source)
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    const found = await page.evaluate(async () => {
      const { violations } = await (window as unknown as { axe: typeof axe }).axe.run({
        resultTypes: ['violations'],
      })
      return violations.map(({ id, nodes }) => ({ id, where: nodes.map(({ html }) => html) }))
    })
    expect(found).toEqual([])
  }
})
