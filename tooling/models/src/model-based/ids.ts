import { bucketRouter } from '@looseleaf/router'
import type { Router } from '@looseleaf/core'

/** Ids of every kind; the last two are one id in two spellings. */
export const knownIds: readonly string[] = [
  '0192f0c1-7c1e-7000-8def-0123456789ab',
  '0192f0c1-7c1e-7fff-8def-0123456789ab',
  '3f333df6-90a4-4fda-8dd3-9485d27cee36',
  '00000000-0000-0000-0000-000000000000',
  'ffffffff-ffff-ffff-ffff-ffffffffffff',
  '0192f0c1-7c1e-7abc-8def-abcdefabcdef',
  '0192F0C1-7C1E-7ABC-8DEF-ABCDEFABCDEF',
]

/** The usual router, but with deterministic ids, so that backends can be compared. */
export function countingRouter(shards: number): Router {
  const router = bucketRouter({ shards })
  let made = 0
  return {
    ...router,
    newId(near) {
      const id = Buffer.from(router.newId(near))
      made++
      id.writeUIntBE(0x0192f0c10000 + made, 0, 6)
      if (near === undefined) id.writeUInt16BE(0x7000 | ((made * 0x6b5) & 0xfff), 6)
      id.writeUInt32BE(0x80000000, 8)
      id.writeUInt32BE(made, 12)
      return id
    },
  }
}
