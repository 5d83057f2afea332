import { hash } from 'node:crypto'
import { checkKeyBytes } from './check.ts'

/** Number of hashes that are remembered, a power of two. They take 70 KiB. */
const SLOTS = 1024
/** Longest key in bytes whose hash is remembered. */
const MAX_BYTES = 64

// A write asks several times for the shard of its tenant or its queue, and many writes ask for the same one. A slot takes any key whose bytes mix
// to its number, and forgets the key before. A key that comes again takes a quarter of the time of its hash, one that never does a quarter more.
const slotKeys = new Uint8Array(SLOTS * MAX_BYTES)
/** Length of each key, plus one; 0 for an empty slot. */
const slotLengths = new Uint8Array(SLOTS)
const slotHashes = new Uint32Array(SLOTS)

/**
 * Returns the 32-bit hash for routing: the first four bytes (big endian) of a SHA-256, which any language can compute. Similar keys spread
 * evenly.
 */
export function keyHash(key: Uint8Array): number {
  checkKeyBytes(key)
  const { length } = key
  if (length > MAX_BYTES) return hashOf(key)
  const slot = slotOf(key)
  const start = slot * MAX_BYTES
  if (slotLengths[slot] === length + 1) {
    let same = 0
    while (same < length && slotKeys[start + same] === key[same]) same++
    if (same === length) return slotHashes[slot] as number
  }
  const found = hashOf(key)
  slotKeys.set(key, start)
  slotLengths[slot] = length + 1
  slotHashes[slot] = found
  return found
}

/** Mixes the bytes of a key as FNV-1a does. */
function slotOf(key: Uint8Array): number {
  let mixed = 0x811c9dc5
  for (let i = 0; i < key.length; i++) mixed = Math.imul(mixed ^ (key[i] as number), 0x01000193)
  return (mixed ^ (mixed >>> 15)) & (SLOTS - 1)
}

function hashOf(key: Uint8Array): number {
  return hash('sha256', key, 'buffer').readUInt32BE(0)
}
