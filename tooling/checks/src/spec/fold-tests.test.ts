import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { foldTests } from './fold-tests.ts'

const page = [
  '### 1.1 A title',
  '',
  'Prose.',
  '',
  '- `a.test.ts`: "one"',
  '- `a.test.ts`: "two"',
  '',
  '## 2.',
  '',
]
const folded = [
  '### 1.1 A title',
  '',
  'Prose.',
  '',
  '<details><summary>Tests</summary>',
  '',
  '- `a.test.ts`: "one"',
  '- `a.test.ts`: "two"',
  '',
  '</details>',
  '',
  '## 2.',
  '',
]

it('a list of tests is folded, and prose stays', () => {
  expect(foldTests(page.join('\n'))).toBe(folded.join('\n'))
})

it('a folded list stays as it is, also with another line', () => {
  expect(foldTests(folded.join('\n'))).toBe(folded.join('\n'))
  const longer = folded.toSpliced(7, 0, '- `b.test.ts`: "three"').join('\n')
  expect(foldTests(longer)).toBe(longer)
})

it('a list of prose is not folded', () => {
  expect(foldTests('- `previous` is absent\n- a limit\n')).toBe('- `previous` is absent\n- a limit\n')
})

it('docs/spec.md folds its lists of tests; `pnpm --filter @looseleaf-tooling/checks fold` does it', () => {
  const spec = readFileSync(join(import.meta.dirname, '../../../../docs/spec.md'), 'utf8')
  expect(foldTests(spec)).toBe(spec)
})
