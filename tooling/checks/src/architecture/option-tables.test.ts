import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { documentsWithTables, optionRows, withTables } from './option-tables.ts'
import { root } from './repository.ts'

/** Without the padding that the formatter adds to a table. */
const plain = (text: string): string => text.replaceAll(/ +/g, ' ').replaceAll(/-{3,}/g, '---')

test.each(documentsWithTables())('the tables of options in %s are those of the docstrings', (document) => {
  const now = readFileSync(join(root, document), 'utf8')
  expect(plain(now), 'run: pnpm options').toBe(plain(withTables(document)))
})

describe('a table of options', () => {
  const source = `export interface Options {
    /** Rows of a page. Default: 500. */
    readonly rows?: number | undefined
    /**
     * The letter \`a | b\`,
     * in lower case.
     *
     * Others are refused.
     */
    readonly letter: string
  }
  interface Bare { readonly rows?: number }`

  test('a table has a row for each option, with its default and the first paragraph of its docstring', () => {
    expect(optionRows(source, 'Options')).toEqual([
      '| `rows` | 500 | Rows of a page. |',
      '| `letter` | required | The letter `a \\| b`, in lower case. |',
    ])
  })

  test('an option without a docstring is refused, and so is a name without an interface', () => {
    expect(() => optionRows(source, 'Bare')).toThrow('The option rows has no docstring.')
    expect(() => optionRows(source, 'Other')).toThrow('There is no interface Other')
  })
})
