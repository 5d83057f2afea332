import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { fillTables, tables } from './markdown.ts'
import type { Results } from './results.ts'

const docs = join(import.meta.dirname, '..', '..', '..', '..', 'docs')
const page = await readFile(join(docs, 'performance.md'), 'utf8')

test('every number of docs/performance.md is of the results that it names', async () => {
  const text = await readFile(join(docs, 'measured', 'performance', 'latest.json'), 'utf8')
  expect(fillTables(page, JSON.parse(text) as Results)).toBe(page)
})

test('docs/performance.md has every table', () => {
  const named = [...page.matchAll(/<!-- table: (.+?) -->/g)].map(([, name]) => name)
  expect(named.toSorted()).toEqual(Object.keys(tables).toSorted())
})

test('a table that there is not is refused', () => {
  const text = '<!-- table: nothing -->\n<!-- end of table -->'
  expect(() => fillTables(text, { format: 2, parts: {}, results: [], series: [] })).toThrow(
    'There is no table "nothing".',
  )
})
