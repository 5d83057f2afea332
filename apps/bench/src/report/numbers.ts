import type { ResultRow } from './results.ts'
import type { Spread } from '../measure/statistics.ts'

/** Formats a number with three significant digits and separators: `12,300`, `1.23`. */
export function formatNumber(value: number): string {
  if (value === 0) return '0'
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))))
  const rounded = Number(value.toPrecision(3))
  return rounded.toLocaleString('en-US', { maximumFractionDigits: digits })
}

/** Formats a ratio with two significant digits, and its least and greatest value over the rounds: `1.2 × (1.1–1.4)`. */
export function formatRatio({ median, min, max }: Spread): string {
  const two = (value: number): string => `${Number(value.toPrecision(2))}`
  const [low, high] = [two(min), two(max)]
  return low === high ? `${two(median)} ×` : `${two(median)} × (${low}–${high})`
}

/** Formats a number, or a dash if it is unknown. */
export function formatMaybe(value: number | undefined): string {
  return value === undefined ? '–' : formatNumber(value)
}

/** Formats the times, the CPU and the statements of a call for a row of a table. */
export function formatCosts(row: ResultRow): string[] {
  const { p50Ms, p99Ms, clientCpuUs, serverCpuUs, statementsPerOp } = row
  const known = [p50Ms, p99Ms, clientCpuUs].map(formatNumber)
  return [...known, formatMaybe(serverCpuUs ?? undefined), formatMaybe(statementsPerOp ?? undefined)]
}

/** Formats a count with its noun: `one caller`, `64 callers`. */
export const counted = (count: number, noun: string): string =>
  count === 1 ? `one ${noun}` : `${formatNumber(count)} ${noun}${noun.endsWith('s') ? 'es' : 's'}`

/** Formats a number for plots: `12.3k`, `1M`. */
export function shortNumber(value: number): string {
  if (value >= 1e6) return `${Number((value / 1e6).toPrecision(3))}M`
  if (value >= 1e4) return `${Number((value / 1e3).toPrecision(3))}k`
  return formatNumber(value)
}
