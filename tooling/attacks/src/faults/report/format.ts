import type { Column } from '../markdown-table.ts'

export const number = (value: number): string => Math.round(value).toLocaleString('en-US')
export const left = (title: string): Column => ({ title, align: 'left' })
export const right = (title: string): Column => ({ title, align: 'right' })

/** Formats the least and the greatest value, or the only one. */
export function span(values: readonly number[], digits = 0): string {
  if (values.length === 0) return '–'
  const [least, most] = [Math.min(...values).toFixed(digits), Math.max(...values).toFixed(digits)]
  return least === most ? least : `${least}–${most}`
}

/** Formats a list as `a, b and 2 more`. */
export function some(items: readonly string[], most = 4): string {
  const shown = items.slice(0, most).join(', ')
  return items.length > most ? `${shown} and ${items.length - most} more` : shown
}

export function sum(values: Iterable<number>): number {
  let total = 0
  for (const value of values) total += value
  return total
}

/**
 * Turns a name of a program into words: `staleReads` becomes "stale reads". Returns other texts unchanged.
 */
export function wordsOf(name: string): string {
  return /^[a-z]+(?:[A-Z][a-z]+)+$/.test(name)
    ? name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
    : name
}
