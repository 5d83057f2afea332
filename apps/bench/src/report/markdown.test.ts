import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { fillTables, tables } from './markdown.ts'
import type { Results } from './results.ts'

const docs = join(import.meta.dirname, '..', '..', '..', '..', 'docs')
const page = await readFile(join(docs, 'performance.md'), 'utf8')

test('every number in the tables of docs/performance.md comes from the stored results', async () => {
  const text = await readFile(join(docs, 'measured', 'performance', 'latest.json'), 'utf8')
  expect(fillTables(page, JSON.parse(text) as Results)).toBe(page)
})

test('docs/performance.md contains every table', () => {
  const named = [...page.matchAll(/<!-- table: (.+?) -->/g)].map(([, name]) => name)
  expect(named.toSorted()).toEqual(Object.keys(tables).toSorted())
})

test('an unknown table name throws', () => {
  const text = '<!-- table: nothing -->\n<!-- end of table -->'
  expect(() => fillTables(text, { format: 2, parts: {}, results: [], series: [] })).toThrow(
    'There is no table "nothing".',
  )
})

test('the report names parts that were measured on another machine than the last one', async () => {
  const text = await readFile(join(docs, 'measured', 'performance', 'latest.json'), 'utf8')
  const results = JSON.parse(text) as Results
  const machineOf = (elsewhere: readonly string[]): string => {
    const parts = Object.entries(results.parts).map(([name, facts]) => {
      const [finished, cpu] = elsewhere.includes(name)
        ? ['2000-01-01T00:00:00.000Z', 'Abacus']
        : [facts.finished, 'Slide rule']
      return [name, { ...facts, finished, machine: { ...facts.machine, cpu } }]
    })
    return tables['machine']!({ ...results, parts: Object.fromEntries(parts) as Results['parts'] })
  }
  expect(machineOf([])).not.toContain('another machine')
  expect(machineOf(['calls', 'sweep'])).toMatch(
    /^Slide rule, [^]*\n\nMeasured on another machine: calls, sweep\.$/m,
  )
})
