import { stripTypeScriptTypes } from 'node:module'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { PROBES } from './probes-global.ts'
import { probe } from './probes.ts'

const SOURCE = `
const double = (n: number): number => n * 2
const wrap = (n: number) => ({ n })
const later = (n: number) => {
  if (n === 0) return () => 'never'
  return () => n
}
function sign(n: number, zero = 'none') {
  if (n > 0) return 'plus'
  else if (n < 0) return 'minus'
  for (let i = 0; i < 1; i++) double(i)
  switch (n) {
    case 0: return zero
    default: return 'odd'
  }
}
`

/** Evaluates an expression with all probes, and tells which pieces of the source ran. */
function run(expression: string, ...pieces: string[]): { value: unknown; ran: string[] } {
  const { code, probeAt } = probe('x.ts', SOURCE, 100)
  const numbers = new Set<number>()
  const context = { [PROBES]: numbers }
  const value: unknown = runInNewContext(`${stripTypeScriptTypes(code)}; ${expression}`, context)
  return { value, ran: pieces.filter((piece) => numbers.has(probeAt(SOURCE.indexOf(piece)))) }
}

it('probes tell which statements ran, and change nothing else', () => {
  const pieces = ["'plus'", "'minus'", 'double(i)', 'return zero', "'odd'", "'none'", 'n * 2', '{ n }']
  expect(run("sign(1, '')", ...pieces)).toEqual({ value: 'plus', ran: ["'plus'", "'none'"] })
  expect(run('sign(-1)', ...pieces)).toEqual({ value: 'minus', ran: ["'minus'", "'none'"] })
  expect(run('sign(0)', ...pieces)).toEqual({
    value: 'none',
    ran: ['double(i)', 'return zero', "'none'", 'n * 2'],
  })
  expect(run('later(0)()', 'never', '() => n')).toEqual({ value: 'never', ran: ['never'] })
  expect(run('JSON.stringify(wrap(3))', ...pieces)).toEqual({ value: '{"n":3}', ran: ['{ n }'] })
})

it('probes count from the given number', () => {
  const { probeAt, count } = probe('x.ts', SOURCE, 100)
  expect(probeAt(0)).toBe(100)
  expect(count).toBeGreaterThan(10)
  expect(probeAt(SOURCE.indexOf("'odd'"))).toBeLessThan(100 + count)
})
