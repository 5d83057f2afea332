import { checkIdBytes } from './check.ts'
import { keyHash } from './key-hash.ts'

/** Number of buckets: twelve bits, the size of `rand_a` in a UUIDv7. */
export const BUCKETS = 4096

/** UUID versions in which the twelve bits after the version are random or hashed. */
const SPREAD_VERSIONS: ReadonlySet<number> = new Set([3, 4, 5, 7])

/**
 * Returns the bucket of an id, 0 to 4,095. For UUIDs of version 3, 4, 5 and 7 it is the twelve bits after the version, which are random
 * or hashed, or written by `newId`. Other ids (version 1, 2, 6, 8, and bytes that are no RFC 9562 UUID) are hashed. Throws `BAD_ID`
 * for anything but 16 bytes.
 */
export function bucketOfId(id: Uint8Array): number {
  checkIdBytes(id)
  const high = id[6] as number
  const isRfc9562 = ((id[8] as number) & 0xc0) === 0x80
  if (isRfc9562 && SPREAD_VERSIONS.has(high >> 4)) return ((high & 0x0f) << 8) | (id[7] as number)
  return bucketOfKey(id)
}

/** Returns the bucket of any other key: the upper twelve bits of its hash. */
export function bucketOfKey(key: Uint8Array): number {
  return keyHash(key) >>> 20
}
