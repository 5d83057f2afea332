import { randomUUID } from 'node:crypto'
import { parseId, type Router } from '@looseleaf/core'

/**
 * Creates a router that makes far rows for sure: entities are on shard 0, and index rows whose `shardOn` is neither the id nor another
 * uuid on the other shards. Tests need it that break the writes of rows and of entities one by one.
 */
export function farRouter(shards = 2): Router {
  return {
    fingerprint: `far-1 shards=${shards}`,
    shardCount: shards,
    shardOfId: () => 0,
    shardOfKey: (key) => 1 + (key.reduce((sum, byte) => sum + byte, 0) % (shards - 1)),
    newId: () => parseId(randomUUID()),
  }
}

/** Creates a router that makes local rows for sure: everything is on shard 0. */
export function localRouter(shards = 2): Router {
  return { ...farRouter(shards), fingerprint: `local-1 shards=${shards}`, shardOfKey: () => 0 }
}
