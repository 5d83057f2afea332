import type { Bag } from '@looseleaf/core'

/**
 * Returns a text that two values share exactly if a store must not distinguish them. It includes types, every
 * bit of numbers, and bytes by content; it ignores the order of properties and undefined ones.
 */
export function canonical(value: unknown): string {
  if (value === undefined) return 'undefined'
  if (value === null || typeof value === 'boolean') return String(value)
  if (typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value)
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value === 'string') return JSON.stringify(value)
  if (value instanceof Date) return `Date(${value.getTime()})`
  if (value instanceof Uint8Array) return `bytes(${Buffer.from(value).toString('hex')})`
  if (Array.isArray(value)) return `[${value.map(canonical).join(', ')}]`
  const entries = Object.entries(value as Bag).filter(([, inner]) => inner !== undefined)
  const texts = entries.map(([name, inner]) => `${JSON.stringify(name)}: ${canonical(inner)}`)
  return `{ ${texts.toSorted().join(', ')} }`
}

/** Returns a bag as it is stored: -0 becomes 0, and undefined properties go. */
export function asStored<T>(value: T): T {
  if (typeof value === 'number') return (value + 0) as T
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Date || value instanceof Uint8Array) return value
  if (Array.isArray(value)) return value.map(asStored) as T
  const entries = Object.entries(value).filter(([, inner]) => inner !== undefined)
  return Object.fromEntries(entries.map(([name, inner]) => [name, asStored(inner)])) as T
}
