import { describe, expect, test } from 'vitest'
import { sideNames } from '../../sides/side-names.ts'
import { loaderNames, type ResultRow } from '../results.ts'
import { titleOf } from '../titles.ts'
import { bars } from './bars.ts'
import { lines } from './lines.ts'
import { style } from './style.ts'

const [light = '', dark = ''] = style.split('@media screen and (prefers-color-scheme: dark)')

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
  const [alone, beside] = [
    {},
    {
      besides: [
        [0, 1],
        [50, 100],
      ] as const,
    },
  ].map((more) => /cx="([\d.]+)"/.exec(lines([short], { ...options, ...more }).text)?.[1])
  expect(Number(beside)).toBeLessThan(Number(alone))
  const drawn = lines([short], options).text
  expect(drawn).toContain('<title>JSON column: 10 at 5</title>')
  expect(drawn).toContain('ms (logarithmic)')
  expect(drawn).not.toContain('seconds (logarithmic)')
})

test('a drawing has room for the longest title', () => {
  const widthOf = (side: ResultRow['side']): number => {
    const row = { side, opsPerSecond: 1, spread: { opsPerSecond: [1, 1] } } as unknown as ResultRow
    const [, width] = /viewBox="0 0 ([\d.]+)/.exec(bars([row], '').text) ?? []
    // Wide letters take about eight pixels each.
    expect(Number(width)).toBeGreaterThanOrEqual(titleOf(side).length * 8)
    return Number(width)
  }
  expect(widthOf('json')).toBe(320)
  expect(Math.max(...sideNames.map(widthOf))).toBeLessThan(400)
})
