import type { Key, KeyValue } from '@looseleaf/core'

/**
 * The order of two values of one column, as both databases have it: numbers by size, bytes by their unsigned values and
 * a beginning before what goes on. Negative, 0 or positive.
 */
export function compareKeyValues(a: KeyValue, b: KeyValue): number {
  if (a instanceof Uint8Array) return b instanceof Uint8Array ? Buffer.compare(a, b) : 1
  if (b instanceof Uint8Array) return -1
  return a < b ? -1 : a > b ? 1 : 0
}

/** The order of two keys of one index, column by column; a key that ends first comes first. */
export function compareKeys(a: Key, b: Key): number {
  const columns = Math.min(a.length, b.length)
  for (let i = 0; i < columns; i++) {
    const order = compareKeyValues(a[i] as KeyValue, b[i] as KeyValue)
    if (order !== 0) return order
  }
  return a.length - b.length
}

/** A string that two keys of one index share exactly when they are equal; for maps and sets. */
export function keyIdentity(key: Key): string {
  let identity = ''
  for (const value of key) {
    identity += value instanceof Uint8Array ? `${value.length}:${latin1(value)}` : `${value};`
  }
  return identity
}

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')
}
