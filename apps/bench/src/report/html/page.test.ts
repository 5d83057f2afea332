import { describe, expect, test } from 'vitest'
import { sideNames } from '../../sides/side-names.ts'
import { loaderNames } from '../results.ts'
import { lines } from './lines.ts'
import { style } from './style.ts'

const [light = '', dark = ''] = style.split('@media (prefers-color-scheme: dark)')

describe.each([...sideNames, ...loaderNames])('%s', (side) => {
  test.each([
    ['light', light],
    ['dark', dark],
  ])('has a colour in %s', (_, part) => {
    expect(part).toMatch(new RegExp(`--${side.replace(/\W/g, '-')}: #[0-9a-f]{6}\\b`))
  })
})

test('two drawings with the same values besides have one axis, and every point says its value', () => {
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
