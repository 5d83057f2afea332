import { asBuffer, isBytes, type Key } from '@looseleaf/core/internal'

/** Returns a string for maps and sets. Two keys of one index have the same string exactly if they are equal. */
export function keyIdentity(key: Key): string {
  let identity = ''
  for (const value of key) {
    identity += isBytes(value) ? `${value.length}:${asBuffer(value).toString('latin1')}` : `${value};`
  }
  return identity
}

/** Tells whether two keys of one index are equal. */
export function isSameKey(a: Key, b: Key): boolean {
  return a.every((value, column) => {
    const other = b[column]
    return isBytes(value) && isBytes(other) ? Buffer.compare(value, other) === 0 : value === other
  })
}
