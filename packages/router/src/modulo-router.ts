import type { Router, Time } from '@looseleaf/core'
import { systemTime } from '@looseleaf/core/internal'
import { checkIdBytes, checkRouterOptions } from './check.ts'
import { keyHash } from './key-hash.ts'
import { leastCommonMultiple, remainderOf, withRemainder } from './remainder.ts'
import { uuidV7 } from './uuid-v7.ts'

export interface ModuloRouterOptions {
  /** Number of shards, 1 to 4,096. */
  readonly shards: number
  /** Clock for the milliseconds of new ids. Default: the clock of the machine. */
  readonly time?: Pick<Time, 'now'> | undefined
}

const MAX_SHARDS = 4096
/** Divisible by every number from 1 to 16. */
const UP_TO_16 = 720_720

/**
 * Creates a router as in FriendFeed's article: the id as one integer of 128 bits (big endian), modulo the number of shards. Other keys
 * use their hash, modulo the number of shards. It is easy to compute in any language, but another number of shards moves nearly every
 * key. The layout of such a store is fixed: it can never get another shard. Use `bucketRouter` unless the number is final.
 *
 * Ids near each other are on the same shard for this number of shards and for every number up to 16.
 */
export function moduloRouter(options: ModuloRouterOptions): Router {
  checkRouterOptions('moduloRouter', options, MAX_SHARDS)
  const { shards, time = systemTime } = options
  const nearness = leastCommonMultiple(UP_TO_16, shards)
  return {
    fingerprint: `modulo-1 shards=${shards}`,
    shardCount: shards,
    shardOfId(id) {
      checkIdBytes(id)
      return remainderOf(id, shards)
    },
    shardOfKey: (key) => keyHash(key) % shards,
    newId(near) {
      const id = uuidV7(time.now())
      if (near === undefined) return id
      checkIdBytes(near)
      return withRemainder(id, remainderOf(near, nearness), nearness)
    },
    newIdNearKey: (key) => withRemainder(uuidV7(time.now()), keyHash(key) % nearness, nearness),
  }
}
