import { expect, test } from 'vitest'
import { markdownTable } from './markdown-table.ts'

test('a Markdown table aligns its columns, and numbers to the right', () => {
  const table = markdownTable(
    [
      { title: 'fault', align: 'left' },
      { title: 'n', align: 'right' },
    ],
    [
      ['kill', '50'],
      ['silence', '1,234'],
    ],
  )
  expect(table).toBe(
    ['| fault   |     n |', '| ------- | ----: |', '| kill    |    50 |', '| silence | 1,234 |'].join('\n'),
  )
})
