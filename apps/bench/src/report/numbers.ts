import type { Spread } from '../measure/statistics.ts'

/** Three digits that count, with separators: `12,300`, `1.23`. */
export function formatNumber(value: number): string {
  if (value === 0) return '0'
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))))
  const rounded = Number(value.toPrecision(3))
  return rounded.toLocaleString('en-US', { maximumFractionDigits: digits })
}

/** A ratio with two digits that count, and the least and the greatest of a round: `1.2 × (1.1–1.4)`. */
export function formatRatio({ median, min, max }: Spread): string {
  const two = (value: number): string => `${Number(value.toPrecision(2))}`
  const [low, high] = [two(min), two(max)]
  return low === high ? `${two(median)} ×` : `${two(median)} × (${low}–${high})`
}

/** A number that may not be known. */
export function formatMaybe(value: number | undefined): string {
  return value === undefined ? '–' : formatNumber(value)
}

/** `one caller`, `64 callers`. */
export const counted = (count: number, what: string): string =>
  count === 1 ? `one ${what}` : `${formatNumber(count)} ${what}${what.endsWith('s') ? 'es' : 's'}`

/** For plots: `12.3k`, `1M`. */
export function shortNumber(value: number): string {
  if (value >= 1e6) return `${Number((value / 1e6).toPrecision(3))}M`
  if (value >= 1e4) return `${Number((value / 1e3).toPrecision(3))}k`
  return formatNumber(value)
}
