import { describe, expect, test } from 'vitest'
import { sideNames } from '../../sides/side-names.ts'
import { loaderNames, type ResultRow } from '../results.ts'
import { titleOf } from '../titles.ts'
import { bars } from './bars.ts'
import { lines } from './lines.ts'
import { style } from './style.ts'

const [light = '', dark = ''] = style.split('@media (prefers-color-scheme: dark)')

describe.each([...sideNames, ...loaderNames])('%s', (side) => {
  test.each([
    ['light', light],
    ['dark', dark],
  ])('the side has a colour in the %s scheme', (_, part) => {
    expect(part).toMatch(new RegExp(`--${side.replace(/\W/g, '-')}: #[0-9a-f]{6}\\b`))
  })
})

test('drawings with the same extra values share their axes, and every point has its value as a title', () => {
  const options = { label: '', x: 'seconds', y: 'ms', xScale: 'linear', isWide: true } as const
  const short = { side: 'json', points: [[5, 10]] } as const
  const [alone, beside] = [{}, { besides: [1, 100], besidesAcross: [50] }].map(
    (more) => /cx="([\d.]+)"/.exec(lines([short], { ...options, ...more }))?.[1],
  )
  expect(Number(beside)).toBeLessThan(Number(alone))
  const drawn = lines([short], options)
  expect(drawn).toContain('<title>JSON column: 10 at 5</title>')
  expect(drawn).toContain('ms (logarithmic)')
  expect(drawn).not.toContain('seconds (logarithmic)')
})

test('a drawing has room for the longest title and for its bars', () => {
  const widthOf = (side: ResultRow['side']): number => {
    const row = { side, opsPerSecond: 1, spread: { opsPerSecond: [1, 1] } } as unknown as ResultRow
    const drawn = bars([row], '')
    const [, end] = /<text x="([\d.]+)"[^>]*text-anchor="end"/.exec(drawn) ?? []
    // Wide letters take about seven pixels each.
    expect(Number(end)).toBeGreaterThan(titleOf(side).length * 7)
    const [, bar] = /<rect [^>]*width="([\d.]+)"/.exec(drawn) ?? []
    expect(Number(bar)).toBeGreaterThanOrEqual(100)
    return Number(/viewBox="0 0 ([\d.]+)/.exec(drawn)?.[1])
  }
  expect(widthOf('json')).toBe(390)
  expect(widthOf('every-span')).toBeGreaterThan(390)
})
