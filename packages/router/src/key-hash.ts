import { hash } from 'node:crypto'
import { checkKeyBytes } from './check.ts'

/**
 * The 32-bit hash of routing: the first four bytes, big endian, of a SHA-256. Anything can compute it again, for ever, and
 * nobody can pick keys of their own that fall together by looking at them.
 */
export function keyHash(key: Uint8Array): number {
  checkKeyBytes(key)
  return hash('sha256', key, 'buffer').readUInt32BE(0)
}
