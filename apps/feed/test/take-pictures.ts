import { mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { addressesOfAll, openBrowser } from './browser.ts'

/*
 * `pnpm --filter feed pictures [address] [folder]` takes a screenshot of each page of a running site and of its window, in light and
 * dark, wide and narrow. Git ignores the default folder.
 */

const [
  address = 'http://127.0.0.1:3000',
  folder = fileURLToPath(new URL('../.data/pictures/', import.meta.url)),
] = process.argv.slice(2)
const WIDTHS = [1280, 360]
const SCHEMES = ['light', 'dark'] as const

const browser = await openBrowser()
mkdirSync(folder, { recursive: true })
try {
  for (const width of WIDTHS)
    for (const colorScheme of SCHEMES) {
      const context = await browser.newContext({
        baseURL: address,
        colorScheme,
        viewport: { width, height: 800 },
      })
      const page = await context.newPage()
      for (const [i, path] of (await addressesOfAll(page)).entries()) {
        await page.goto(path)
        await page.screenshot({
          path: `${folder}/${nameOf(path, i)}-${width}-${colorScheme}.png`,
          fullPage: true,
        })
      }
      await context.close()
    }
  console.log(`The pictures are in ${folder}`)
} finally {
  await browser.close()
}

/** Returns a name such as `12-store-index`, with the number of the page and its path without ids. */
function nameOf(path: string, i: number): string {
  const words = path.split('/').filter((word) => /^[a-z_-]{1,20}$/.test(word))
  return [String(i + 1).padStart(2, '0'), ...(words.length === 0 ? ['home'] : words)].join('-')
}
