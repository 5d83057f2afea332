import { someOf } from '@looseleaf-tooling/vitest/long'
import axe from 'axe-core'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { cleanIndex, memoryShards } from 'looseleaf'
import { freshEntry } from '../src/domain/entries/fresh-entry.ts'
import { addressesOfAll, CHROMIUM, hasBrowser as found, openBrowser, signIn as signInOn } from './browser.ts'
import { addPeople, openTestSite, type TestSite } from './support.ts'

let site: TestSite
let url: string
let browser: Browser
/** Two pages for all tests, because a new one takes most of a second. */
let plain: Page
let scripted: Page
/** The page of a test: without scripts, unless the test takes the other one. */
let page: Page

beforeAll(async () => {
  if (!found) return
  site = await openTestSite({ shards: memoryShards(2) })
  url = await site.app.listen({ port: 0, host: '127.0.0.1' })
  browser = await openBrowser()
  // Smooth scrolling draws dozens of frames.
  const open = async (javaScriptEnabled: boolean): Promise<Page> =>
    (await browser.newContext({ javaScriptEnabled, reducedMotion: 'reduce', baseURL: url })).newPage()
  plain = await open(false)
  scripted = await open(true)
})

afterAll(async () => {
  if (!found) return
  await browser.close()
  await site.close()
})

beforeEach(() => {
  page = plain
})
afterEach(async () => {
  if (!found) return
  // Ends what the page waits for.
  await page.goto('about:blank')
  await page.context().clearCookies()
})

const signIn = (name: string): Promise<void> => signInOn(page, name)

test('the machine has a browser', (ctx) => {
  ctx.skip(!found, `no chromium at ${CHROMIUM}: the browser tests were not run (set LOOSELEAF_CHROMIUM)`)
  expect(found).toBe(true)
})

test.skipIf(!found)(
  'a visitor signs in, posts, comments, likes, unlikes and deletes without scripts',
  async () => {
    await signIn('Mira Saltmarsh')
    await page.getByLabel('Share something').fill('Written in a browser')
    await page.getByLabel('Link').fill('example.org/browser')
    await page.getByRole('button', { name: 'Post' }).click()
    await page.getByRole('heading', { level: 1, name: 'Written in a browser' }).waitFor()

    await page.goto('/people/mira')
    await page.getByRole('link', { name: 'Comment on Written in a browser' }).click()
    await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe('comment')
    await page.keyboard.type('And commented on')
    await page.getByRole('button', { name: 'Comment' }).click()
    expect(new URL(page.url()).hash).toMatch(/^#c-/)
    expect(await page.locator('.comment').innerText()).toContain('And commented on')

    await page.getByRole('button', { name: /^Like/ }).click()
    expect(await page.locator('.likes').innerText()).toBe('You like this')
    await page.getByRole('button', { name: /^Unlike/ }).click()
    expect(await page.locator('.likes').count()).toBe(0)

    await page.locator('.comment summary').click()
    await page.getByRole('button', { name: 'Yes, delete this comment' }).click()
    expect(await page.locator('.comment').count()).toBe(0)

    await page.locator('.actions summary').click()
    await page.getByRole('button', { name: 'Yes, delete this entry' }).click()
    expect(new URL(page.url()).pathname).toBe('/people/mira')
    expect(await page.getByText('Written in a browser').count()).toBe(0)
  },
)

test.skipIf(!found)('an index is added and dropped in the window, which updates by itself', async () => {
  page = scripted
  const errors: string[] = []
  page.on('console', (message) => errors.push(message.text()))
  page.on('pageerror', (error) => errors.push(error.message))
  await page.goto('/store/live')
  await page.getByRole('button', { name: 'Add entry_by_link' }).click()
  await page.getByRole('heading', { name: 'entry_by_link: building' }).waitFor()
  await cleanIndex(site.site.store, 'entry_by_link')
  // The page updates without a reload.
  await page.getByRole('heading', { name: 'entry_by_link: ready' }).waitFor()
  expect(await page.getByRole('status').innerText()).toBe('entry_by_link is ready')
  await page.getByRole('button', { name: 'Drop entry_by_link' }).click()
  await page.getByRole('button', { name: 'Yes, drop entry_by_link' }).click()
  await page.getByRole('heading', { name: 'entry_by_link: absent' }).waitFor()
  expect(errors).toEqual([])
})

test.skipIf(!found)(
  'dangling rows planted in the window are counted by a page and then cleaned',
  async () => {
    page = scripted
    const rows = page.locator('section', { has: page.getByRole('heading', { name: 'entry_by_time' }) })
    await page.goto('/store/faults')
    await rows.getByRole('button', { name: 'Plant rows' }).click()
    await rows.getByText('40 rows').waitFor()
    // The live arrival of a page with scripts would discard rows too.
    await plain.goto('/')
    const { discarded } = site.stage.rowCounts.of('entry_by_time')
    expect(discarded).toBeGreaterThan(10)
    await plain.locator('footer a[href^="/store/xray/"]').first().click()
    await plain.getByText(`${discarded} index rows led to nothing and were discarded`).waitFor()
    // The page updates without a reload.
    await rows.getByText(`${discarded} times`).waitFor()
    await rows.getByRole('button', { name: 'Clean entry_by_time' }).click()
    await rows.locator('dd', { hasText: '40 rows' }).nth(1).waitFor()
    await plain.goto('/')
    expect(site.stage.rowCounts.of('entry_by_time').discarded).toBe(discarded)
  },
)

test.skipIf(!found)('pages go on without a shard that was stopped in the window', async () => {
  await page.goto('/store/faults')
  await page.getByRole('button', { name: 'Stop memory 1' }).click()
  await page.getByRole('button', { name: 'Yes, stop memory 1' }).click()
  await page.getByText('it answers again at').waitFor()
  expect((await page.goto('/'))?.status()).toBe(200)
  await page.getByText('A part of the store (memory 1) does not answer').waitFor()
  await page.goto('/store/shards')
  await page
    .getByText('The contents of memory 1 are unknown: The shard memory 1 is stopped on purpose')
    .waitFor()
  await page.getByRole('img', { name: 'Buckets of memory 0: 0 to 2,047' }).waitFor()
  site.stage.faults.refusals.clear()
  expect((await page.goto('/'))?.status()).toBe(200)
  expect(await page.getByText('does not answer').count()).toBe(0)
})

test.skipIf(!found)('a like in a list redirects back to the entry in that list', async () => {
  await signIn('Yara Nightjar')
  await page.goto('/everything')
  await page.getByRole('link', { name: /^Older/ }).click()
  const second = page.url()
  const button = page.getByRole('button', { name: /^Like/ }).nth(3)
  await button.click()
  expect(page.url().replace(/#e-.+$/, '#e-')).toBe(`${second}#e-`)
})

test.skipIf(!found)(
  'the link Older leads to the next page, and a link leads back to the newest entries',
  async () => {
    await page.goto('/')
    const first = await page.locator('article').first().getAttribute('id')
    await page.getByRole('link', { name: /^Older/ }).click()
    expect(await page.locator('article').first().getAttribute('id')).not.toBe(first)
    await page.getByRole('link', { name: 'Back to the newest' }).click()
    expect(await page.locator('article').first().getAttribute('id')).toBe(first)
  },
)

test.skipIf(!found)('a file is imported by the form, and the import is undone', async () => {
  await signIn('Tariq Sandpiper')
  await page.goto('/import')
  const text =
    '<rss version="2.0"><channel><title>By hand</title><item><title>Chosen</title></item></channel></rss>'
  await page
    .getByLabel('Feed or OPML files')
    .setInputFiles({ name: 'a.xml', mimeType: 'text/xml', buffer: Buffer.from(text) })
  await page.getByRole('button', { name: 'Import' }).click()
  expect(await page.getByRole('status').innerText()).toContain('By hand (RSS): 1 new entry.')
  await page.reload()
  expect(await page.getByRole('status').innerText()).toContain('By hand (RSS): 1 new entry.')
  await page.getByText('Undo the import of By hand').click()
  await page.getByRole('button', { name: 'Yes, undo this import' }).click()
  expect(await page.getByRole('status').innerText()).toContain('Deleted: 1 entry and 1 source.')
  await page.reload()
  expect(await page.getByRole('status').innerText()).toContain('Deleted: 1 entry and 1 source.')
  expect(await page.locator('.imports').count()).toBe(0)
})

test.skipIf(!found)('a refused form comes back with the focus in its first wrong field', async () => {
  const focused = (): Promise<string> =>
    page.evaluate(() => (document.activeElement as HTMLInputElement).name)
  await page.goto('/join')
  await page.getByLabel('Name', { exact: true }).fill('not a name')
  await page.getByLabel('Full name').fill('Somebody')
  await page.getByLabel('Password').fill('too short')
  await page.getByRole('button', { name: 'Join' }).click()
  await page.getByRole('alert').waitFor()
  await expect.poll(focused).toBe('name')
  await page.getByLabel('Name', { exact: true }).fill('a-name')
  await page.getByLabel('Password').fill('too short')
  await page.getByRole('button', { name: 'Join' }).click()
  await page.getByRole('alert').waitFor()
  await expect.poll(focused).toBe('password')
})

test.skipIf(!found)('no button of a home page breaks a word, at any width', async () => {
  await signIn('Noor Tamarind')
  for (const width of [360, 640, 768, 910, 1000, 1160, 1440, 1920]) {
    await page.setViewportSize({ width, height: 800 })
    const broken = await page.locator('button:visible').evaluateAll((buttons) =>
      buttons.flatMap((button) => {
        const text = button.firstChild
        if (!(text instanceof Text)) return []
        return Array.from(text.data.matchAll(/\S+/g)).flatMap(({ 0: word, index }) => {
          const range = document.createRange()
          range.setStart(text, index)
          range.setEnd(text, index + word.length)
          return range.getClientRects().length > 1 ? [word] : []
        })
      }),
    )
    expect({ width, broken }).toEqual({ width, broken: [] })
  }
})

test.skipIf(!found)('no page is wider than a screen of 360 or 1280 px', async () => {
  await signIn('Yara Nightjar')
  const widths = [360, 1280]
  for (const width of widths) {
    await page.setViewportSize({ width, height: 800 })
    const isWhole = await page.locator('.me > span').evaluate((name) => name.scrollWidth <= name.clientWidth)
    expect({ width, isWhole }).toEqual({ width, isWhole: true })
  }
  await page.getByLabel('Share something').fill('W'.repeat(400))
  await page.getByRole('button', { name: 'Post' }).click()
  const entry = new URL(page.url()).pathname
  const lists = ['/', '/people', '/people/mira', '/people/mira/likes', '/sources']
  for (const path of [
    entry,
    ...lists,
    '/following',
    '/settings',
    '/settings/services',
    '/join',
    '/import',
    '/post',
    '/sign-in',
    '/nothing',
  ]) {
    await page.goto(path)
    for (const width of widths) {
      await page.setViewportSize({ width, height: 800 })
      const over = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)
      expect({ path, width, over }).toEqual({ path, width, over: 0 })
    }
  }
})

test.skipIf(!found)('the home page of a person who follows nobody fits a screen of 360 px', async () => {
  await addPeople(site, ['newcomer'])
  await page.setViewportSize({ width: 360, height: 800 })
  await signIn('Newcomer')
  await page.getByText('People to follow').waitFor()
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360)
})

/** Largest size of a page with the sample data. */
const MAX_BYTES = 60_000

const looks = [
  { colorScheme: 'light', width: 1280 },
  { colorScheme: 'dark', width: 360 },
] as const

test.skipIf(!found).each(someOf(looks, 1))(
  'axe finds no problem on any page, and each page is small, $colorScheme, $width px wide',
  async ({ colorScheme, width }) => {
    page = scripted
    await page.emulateMedia({ colorScheme })
    await page.setViewportSize({ width, height: 800 })
    for (const path of someOf(await addressesOfAll(page), 10)) {
      const size = (await (await page.goto(path))?.body())?.length
      expect({ path, isSmall: size !== undefined && size < MAX_BYTES }).toEqual({ path, isSmall: true })
      // Evaluated by the debugger, because the policy of the page forbids other scripts than its own.
      await page.evaluate(axe.source)
      const { violations, passes } = await page.evaluate(() =>
        // The elements that pass are not described, which takes time.
        (window as unknown as { axe: typeof axe }).axe.run({ resultTypes: ['violations'] }),
      )
      // The same page in the other color scheme.
      await page.emulateMedia({ colorScheme: colorScheme === 'light' ? 'dark' : 'light' })
      const other = await page.evaluate(() =>
        (window as unknown as { axe: typeof axe }).axe.run({
          resultTypes: ['violations'],
          runOnly: ['color-contrast'],
          preload: false,
        }),
      )
      await page.emulateMedia({ colorScheme })
      const broken = [...violations, ...other.violations].map(({ id, nodes }) => ({
        id,
        where: nodes.map(({ html }) => html),
      }))
      expect({ path, broken }).toEqual({ path, broken: [] })
      expect(passes.length).toBeGreaterThan(0)
    }
  },
)

test.skipIf(!found)('no page requests a resource that the policy forbids', async () => {
  const complaints: string[] = []
  page = scripted
  page.on('console', (message) => complaints.push(message.text()))
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('response', (reply) => void (reply.status() < 400 || complaints.push(reply.url())))
  await signIn('Noor Tamarind')
  for (const path of ['/', '/people/noor', '/sources', '/import']) await page.goto(path)
  expect(complaints).toEqual([])
})

test.skipIf(!found)('the Atom feeds are well-formed for any posted text', async () => {
  await signIn('Mira Saltmarsh')
  const title = `Odd: \ufffe \uffff \u{1fffe} ]]> <![CDATA[ &#0; &amp; <b> " '`
  await page.getByLabel('Share something').fill(title)
  await page.getByRole('button', { name: 'Post' }).click()
  await page.getByRole('heading', { level: 1, name: 'Odd:' }).waitFor()
  const published = new Date(Date.now() + 1000)
  const odder = {
    // Characters that forms and imports would remove.
    title: 'Odder: \u0000 \u0008 \u001f \u0085',
    body: 'Body: \u0001 \ufffe ]]>',
    source_id: site.site.store.newId(),
    published,
  }
  const { id } = await site.site.data.entries.insert(freshEntry(odder, published))
  for (const path of ['/feed.atom', '/people/mira/feed.atom?a="<>&b=\'']) {
    const xml = (await site.app.inject(path)).body
    // The browser's XML parser is strict.
    const parsed = await page.evaluate((text) => {
      const document = new DOMParser().parseFromString(text, 'application/xml')
      const titles = [...document.querySelectorAll('entry > title')].map((node) => node.textContent?.trim())
      return { error: document.querySelector('parsererror')?.textContent, titles }
    }, xml)
    expect(parsed.error).toBeUndefined()
    expect(parsed.titles).toContain(title.replace(/[\ufffe\uffff]/g, '\ufffd'))
  }
  await site.site.data.entries.delete(id)
})

test.skipIf(!found)(
  'a visitor skips to the content, signs in and posts with the keyboard alone',
  async () => {
    page = scripted
    await page.goto('/store/live')
    await page.keyboard.press('Tab')
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Skip to the content')
    await page.keyboard.press('Enter')
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('main')
    await page.goto('/sign-in')
    await page.keyboard.press('Tab')
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Skip to the content')
    await page.keyboard.press('Enter')
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('main')
    await page.keyboard.press('Tab')
    await page.keyboard.type('oskar')
    await page.keyboard.press('Enter')
    await page.getByText('Signed in as').waitFor()
    await page.goto('/post')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.keyboard.press('Tab')
    await page.keyboard.type('Typed and sent')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Tab')
    const outline = await page.evaluate(
      () => getComputedStyle(document.activeElement as Element).outlineStyle,
    )
    expect(outline).toBe('solid')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'Typed and sent' }).waitFor()
  },
)

test.skipIf(!found)(
  'the window finds an entity by its id, and the shown bytes decode to its bag',
  async () => {
    const { items } = await site.site.data.entries.byTime.page({}, { limit: 100, scatter: true })
    // The page shows the first 512 bytes.
    const sizeOf = (entry: object): number => JSON.stringify(entry).length
    const { id } = items.toSorted((one, other) => sizeOf(one) - sizeOf(other))[0]!
    await page.goto('/store/entity')
    await page.getByLabel('The id of an entity').fill(id)
    await page.getByRole('button', { name: 'Show' }).click()
    await page.getByRole('heading', { level: 1, name: `Entity ${id}` }).waitFor()
    const dump = await page.getByRole('region', { name: 'Bytes of the body' }).innerText()
    const digits = dump.split('\n').map((line) => line.slice(6, 53).replaceAll(' ', ''))
    const bag = site.site.store.context.codec.decode(Buffer.from(digits.join(''), 'hex'))
    const { id: _, ...properties } = (await site.site.store.get(id))!
    expect(bag).toEqual(properties)
    await page.getByRole('cell', { name: String(properties['title']), exact: true }).waitFor()
    expect(await page.getByText('✓ present').count()).toBeGreaterThan(1)
    await page.getByRole('link', { name: 'entry_by_time' }).click()
    await page.getByRole('link', { name: 'Next rows' }).click()
    expect(await page.getByText('✓ its entity').count()).toBe(25)
  },
)
