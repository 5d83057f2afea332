import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { htmlPage } from './report/html/page.ts'
import { fillTables } from './report/markdown.ts'
import type { Results } from './report/results.ts'

/**
 * Copies the latest results to docs/measured/performance, and writes the tables of docs/performance.md from them. No number in
 * these tables is written by hand.
 */
const root = join(import.meta.dirname, '..', '..', '..')
const measured = join(root, 'docs', 'measured', 'performance')
const page = join(root, 'docs', 'performance.md')

const text = await readFile(join(import.meta.dirname, '..', 'results', 'latest.json'), 'utf8')
const results = JSON.parse(text) as Results
await mkdir(measured, { recursive: true })
await writeFile(join(measured, 'latest.json'), text)
await writeFile(join(measured, 'latest.html'), htmlPage(results))
await writeFile(page, fillTables(await readFile(page, 'utf8'), results))
console.log(`${page} has the tables of ${Object.keys(results.parts).join(', ')}.`)
