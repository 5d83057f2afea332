import type { PropertyValue } from '@looseleaf/core'
import { isDate, isBytes } from '@looseleaf/core/internal'

const MAX_TEXT = 400

export function typeOf(value: PropertyValue | undefined): string {
  if (value === null || value === undefined) return 'null'
  if (isDate(value)) return 'time'
  if (isBytes(value)) return 'bytes'
  if (Array.isArray(value)) return 'list'
  return typeof value
}

/** Formats a value for people, shortened to 400 characters. The work is bounded even for a large value. */
export function valueText(value: PropertyValue | undefined): string {
  if (typeof value === 'string') return cutText(value)
  return cutText(partText(value, MAX_TEXT + 1))
}

function cutText(text: string): string {
  if (text.length <= MAX_TEXT) return text
  return `${text.slice(0, MAX_TEXT).replace(/[\uD800-\uDBFF]$/, '')} …`
}

/** Formats a nested value. Stops once the text has `wanted` characters. */
function partText(value: PropertyValue | undefined, wanted: number): string {
  if (value === null || value === undefined) return 'null'
  if (isDate(value)) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString()
  if (isBytes(value)) return Buffer.from(value.subarray(0, wanted)).toString('hex')
  if (typeof value === 'string') return JSON.stringify(value.slice(0, wanted))
  if (typeof value !== 'object') return String(value)
  if (Array.isArray(value)) return `[${joined(value.values(), (item) => partText(item, wanted), wanted)}]`
  const named = value as Readonly<Record<string, PropertyValue | undefined>>
  const names = Object.keys(named).values()
  return `{ ${joined(names, (name) => `${name.slice(0, wanted)}: ${partText(named[name], wanted)}`, wanted)} }`
}

function joined<T>(items: Iterable<T>, textOf: (item: T) => string, wanted: number): string {
  let text = ''
  for (const item of items) {
    if (text !== '') text += ', '
    text += textOf(item)
    if (text.length >= wanted) break
  }
  return text
}
