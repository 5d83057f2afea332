import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

const root = join(import.meta.dirname, '../../..')

interface Invariant {
  readonly title: string
  readonly tests: readonly { readonly file: string; readonly name: string }[]
}

/** Each `### n.n title` of the page, with its lines of the form: - `file`: "name of a test". */
function readSpec(text: string): Invariant[] {
  const [, ...sections] = text.split(/^### /m)
  return sections.map((section) => {
    const body = section.split(/^## /m)[0] ?? ''
    const tests = [...body.matchAll(/^- `([^`]+)`: "([^"]+)"$/gm)]
    return {
      title: body.slice(0, body.indexOf('\n')),
      tests: tests.map(([, file = '', name = '']) => ({ file, name })),
    }
  })
}

const invariants = readSpec(readFileSync(join(root, 'docs/spec.md'), 'utf8'))

it('the spec has invariants, each under a number of its own', () => {
  const numbers = invariants.map(({ title }) => /^\d+\.\d+/.exec(title)?.[0])
  expect(numbers.length).toBeGreaterThan(20)
  expect(numbers).not.toContain(undefined)
  expect(new Set(numbers).size).toBe(numbers.length)
})

describe.each(invariants)('$title', ({ tests }) => {
  it('names a test', () => {
    expect(tests.length).toBeGreaterThan(0)
  })

  it.each(tests)('$file has "$name"', ({ file, name }) => {
    const path = join(root, file)
    expect(existsSync(path), `${file} is not there`).toBe(true)
    // In quotes of any kind: names of tests are literals, and those of situations are keys.
    expect(readFileSync(path, 'utf8')).toMatch(new RegExp(`['"\`][^'"\`\n]*${escape(name)}`))
  })
})

function escape(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
}

it('the reader of the page is not blind: an invariant without a test has none', () => {
  expect(readSpec('### 1.1 Something\n\nprose\n')).toEqual([{ title: '1.1 Something', tests: [] }])
})
