import { globSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isThere, read, root } from './repository.ts'

test('the steps of ARCHITECTURE.md lead to files that have the named function or property', () => {
  const steps = stepsOf(read('ARCHITECTURE.md'))
  expect(steps.length).toBeGreaterThan(20)
  expect(steps.filter(({ file }) => !isThere(file))).toEqual([])
  expect(steps.filter(({ file, name }) => !new RegExp(`\\b${name}\\b`).test(read(file)))).toEqual([])
})

test('the reader of the steps finds the file and the name of a row, and nothing in other tables', () => {
  expect(stepsOf('| a step | `packages/a/src/b.ts` | `begin` |\n| `store` | core | job |\n')).toEqual([
    { file: 'packages/a/src/b.ts', name: 'begin' },
  ])
})

test('the index of the decisions has each page once, with its number, its title and its status', () => {
  const rows = read('docs/decisions/README.md')
    .split('\n')
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .filter(([, number]) => /^\d+$/.test(number ?? ''))
    .map(([, number, , decision, status]) => ({ number, decision, status }))
  const pages = globSync('[0-9]*.md', { cwd: join(root, 'docs/decisions') }).toSorted()
  expect(pages.length).toBeGreaterThan(50)
  expect(rows).toEqual(pages.map(rowOf))
})

/** Rows of the form: | step | `file` | `name` |. */
function stepsOf(text: string): { readonly file: string; readonly name: string }[] {
  const rows = text.matchAll(/^\|[^|]+\| `((?:packages|apps|tooling)\/[^`]+)` +\| `(\w+)` +\|$/gm)
  return Array.from(rows, ([, file = '', name = '']) => ({ file, name }))
}

/** Returns the row that the index should have for a page. */
function rowOf(page: string): { number: string; decision: string; status: string } {
  const text = read(`docs/decisions/${page}`)
  const [, number = '', title = ''] = /^# (\d+)\. (.+)\n/.exec(text) ?? []
  const superseded = /^_Superseded[^_]*/m.exec(text)?.[0] ?? ''
  const later = Array.from(superseded.matchAll(/\[(?:decision )?(\d+)\]/g), ([, other]) => other)
  const status = later.length === 0 ? 'accepted' : `superseded in part by ${later.join(' and ')}`
  return { number, decision: `[${title}](${page})`, status }
}
