import { randomFillSync } from 'node:crypto'
import { ID_BYTES } from '@looseleaf/core/internal'

/** Number of ids for which random bytes are generated at once. */
const POOLED_IDS = 256

const pool: Buffer = Buffer.allocUnsafeSlow(POOLED_IDS * ID_BYTES)
let used: number = pool.length

/**
 * Creates a UUIDv7 of this millisecond: 48 bits of time, 12 bits `randA` (random by default), 62 random bits. Ids of different
 * milliseconds sort by time; ids of the same millisecond have no order.
 */
export function uuidV7(now: number, randA?: number): Uint8Array {
  if (used === pool.length) {
    randomFillSync(pool)
    used = 0
  }
  const id = new Uint8Array(ID_BYTES)
  id.set(pool.subarray(used, used + ID_BYTES))
  // The memory of the process keeps no copy of random bytes that became an id.
  pool.fill(0, used, (used += ID_BYTES))
  const upper = Math.floor(now / 0x1_0000)
  id[0] = upper >>> 24
  id[1] = upper >>> 16
  id[2] = upper >>> 8
  id[3] = upper
  id[4] = now >>> 8
  id[5] = now
  if (randA !== undefined) {
    id[6] = randA >>> 8
    id[7] = randA
  }
  id[6] = 0x70 | ((id[6] as number) & 0x0f)
  id[8] = 0x80 | ((id[8] as number) & 0x3f)
  return id
}
