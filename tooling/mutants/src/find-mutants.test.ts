import { describe, expect, it } from 'vitest'
import { findMutants } from './find-mutants.ts'
import { mutate } from './mutant.ts'

const mutantsOf = (source: string): readonly string[] => findMutants('x.ts', source).map(({ name }) => name)

/** Returns the change of each mutant of a function with this body. */
function changes(body: string): string[] {
  return mutantsOf(`async function f() { ${body} }`).map((name) => name.replace(/^f: /, ''))
}

describe('kinds of mutants', () => {
  it.each([
    ['a guard', 'if (x) return 1; g(); return 2', ['x → true', 'x → false', 'g(); → (nothing)']],
    ['a branch', 'return x ? 1 : 2', ['x → true', 'x → false']],
    ['a loop', 'while (x) y = 1', ['x → false', 'y = 1 → (nothing)']],
    ['an operand', 'return a && b', ['a && b → (a)', 'a && b → (b)']],
    ['a default', 'return a ?? b', ['a ?? b → (a)', 'a ?? b → (b)']],
    ['a truth value', 'return a === b', ['a === b → true', 'a === b → false']],
    ['a negation', 'return !a', ['!a → true', '!a → false']],
    ['a bound', 'return [a < b]', ['[a < b] → []', 'a < b → a <= b', 'a < b → true', 'a < b → false']],
    ['one that is not a bound', 'if (a.length > 0) g()', ['a.length > 0 → true', 'a.length > 0 → false']],
    ['an offset', 'return a + 1', ['a + 1 → a']],
    ['a sum', 'return a * (b - c)', ['a * (b - c) → a / (b - c)', 'b - c → b + c']],
    ['a text that is put together', 'return g(a + `b`)', ['`b` → ``']],
    ['a running sum', 'a += b', ['a += b → (nothing)', 'a += b → a = b']],
    ['a call', 'g(); h(); return 1', ['g(); → (nothing)', 'h(); → (nothing)']],
    ['waiting', 'await g(); return 1', ['await g(); → (nothing)', 'await g() → void g()']],
    ['an early return', 'for (;;) { g(); return }', ['g(); → (nothing)', 'return → (nothing)']],
    ['a flag', 'return g(true)', ['g(true) → g(false)']],
    ['a word', "return g('done')", ["g('done') → g('')"]],
    ['a state', "return { state: 'ready' }", ["state: 'ready' → state: 'building'"]],
    ['a list', 'return g([a])', ['[a] → []']],
    ['a method', 'return a.some(b)', ['a.some(b) → a.every(b)']],
    ['a filter', 'return a.filter(b)', ['a.filter(b) → a']],
    ['the last', 'return a.at(-1)', ['a.at(-1) → a.at(0)']],
    [
      'what stands in parentheses',
      'return (a + 1) * (b ?? c)',
      ['(a + 1) * (b ?? c) → (a + 1) / (b ?? c)', 'a + 1 → a', 'b ?? c → (b)', 'b ?? c → (c)'],
    ],
    [
      'one side in parentheses',
      'return (a ?? b) && (c ?? d).e',
      [
        '(a ?? b) && (c ?? d).e → ((a ?? b))',
        '(a ?? b) && (c ?? d).e → ((c ?? d).e)',
        'a ?? b → (a)',
        'a ?? b → (b)',
        'c ?? d → (c)',
        'c ?? d → (d)',
      ],
    ],
    ['a method of what is waited for', 'return (await a).filter(b)', ['(await a).filter(b) → (await a)']],
    ['a link', 'return a?.b', ['a?.b → a.b']],
    ['an index', 'return a?.[b]', ['a?.[b] → a[b]']],
    ['a call of what may not be there', 'return a?.(b)', ['a?.(b) → a(b)']],
    [
      'an SQL condition',
      'return sql`a < 1 AND b`',
      ['sql`a < 1 AND b` → sql`a < 1 OR b`', 'sql`a < 1 AND b` → sql`a <= 1 AND b`'],
    ],
  ])('%s', (_, body, expected) => {
    expect(changes(body).toSorted()).toEqual(expected.toSorted())
  })

  it('waiting for all of several promises becomes waiting for the first', () => {
    expect(changes('await Promise.all(a)')).toContain('Promise.all(a) → Promise.race(a)')
  })

  it('an error mutates its code and not its message', () => {
    expect(changes("throw new StoreError('CODE', `text ${a.b('c')}`)")).toEqual([
      "new StoreError('CODE', `text ${a.b('c')}`) → new StoreError('', `text ${a.b('c')}`)",
    ])
  })
})

describe('code without mutants', () => {
  it.each([
    ['types', 'interface A { a: "b" } ; type C = "d" | true; const e = f as "g"'],
    ['imports', 'import { a } from "b"'],
    ['exports of other files', 'export { a } from "b"; export type { C } from "d"; export * from "e"'],
    ['a method that every object has', 'export const b = a.toString()'],
    ['names of properties', 'export const a = { "b-c": 1 }'],
  ])('%s', (_, source) => {
    expect(mutantsOf(source)).toEqual([])
  })
})

describe('names of mutants', () => {
  it('a name gives the function, and differs for equal changes at two places', () => {
    const source =
      'const f = () => { const g = () => { if (x) h() }; return { k() { if (x) h(); if (x) h() } } }'
    expect(mutantsOf(source)).toEqual([
      'f.g: x → true',
      'f.g: x → false',
      'f.k: x → true',
      'f.k: x → false',
      'f.k: x → true (2)',
      'f.k: x → false (2)',
    ])
  })

  it('a name does not depend on the code above', () => {
    const source = 'function f() { return a < b }'
    expect(mutantsOf(`const c = 1\n${source}`)).toEqual(mutantsOf(source))
  })
})

it('a mutant is the source with only its change', () => {
  const source = 'export const f = (a: number): boolean => a < 1 // one'
  const bound = findMutants('x.ts', source).find(({ name }) => name.includes('<='))!
  expect(mutate(source, bound)).toBe('export const f = (a: number): boolean => a <= 1 // one')
})
