import { existsSync } from 'node:fs'
import { chromium, type Browser, type Page } from 'playwright-core'

const HEADLESS_SHELL = '/usr/bin/chromium-headless-shell'
export const CHROMIUM: string =
  process.env['LOOSELEAF_CHROMIUM'] ?? (existsSync(HEADLESS_SHELL) ? HEADLESS_SHELL : '/usr/bin/chromium')
export const hasBrowser: boolean = existsSync(CHROMIUM)
const ARGS =
  '--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync'

export function openBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM, headless: true, args: ARGS.split(' ') })
}

export async function signIn(page: Page, name: string): Promise<void> {
  await page.goto('/sign-in')
  await page.getByRole('button', { name }).click()
}

/** Records the layout shifts of a page from now on, with those before. Returns a function that reads them. */
export async function recordShifts(page: Page): Promise<() => Promise<readonly number[]>> {
  await page.evaluate(() => {
    const shifts: number[] = []
    Object.assign(window, { shifts })
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) shifts.push((entry as unknown as { value: number }).value)
    }).observe({ type: 'layout-shift', buffered: true })
  })
  return () => page.evaluate(() => (window as unknown as { shifts: number[] }).shifts)
}

/** Signs in, and returns the paths of all pages of the site and of the window into the store. */
export async function addressesOfAll(page: Page): Promise<string[]> {
  await signIn(page, 'Noor Tamarind')
  await page.goto('/everything')
  const entry = (await page.locator('article a[href^="/entries/"]').first().getAttribute('href')) as string
  const trace = (await page.locator('footer a[href^="/store/xray/"]').first().getAttribute('href')) as string
  // The likes of Marek include a link with its host in the same line on a narrow screen.
  const ofSite = [
    '/',
    '/everything',
    entry,
    '/people',
    '/people/mira',
    '/people/marek/likes',
    '/sources',
    '/add-source',
    '/import',
    '/post',
  ]
  const ofWindow = [
    '',
    '/live',
    '/faults',
    '/entity',
    `/entity${entry.replace('/entries', '')}`,
    '/index',
    '/index/entry_by_time',
    '/shards',
  ]
  const inWindow = [...ofWindow, '/xray', '/nothing'].map((rest) => `/store${rest}`)
  const ofAccount = ['/following', '/settings', '/settings/services', '/join']
  return [...ofSite, ...ofAccount, '/sign-in', '/nothing', ...inWindow, trace]
}
