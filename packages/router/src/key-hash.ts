import { hash } from 'node:crypto'
import { checkKeyBytes } from './check.ts'

/**
 * Returns the 32-bit hash for routing: the first four bytes (big endian) of a SHA-256, which any language can compute. Similar keys spread
 * evenly.
 */
export function keyHash(key: Uint8Array): number {
  checkKeyBytes(key)
  return hash('sha256', key, 'buffer').readUInt32BE(0)
}
