import type { DriverFactory } from '@looseleaf/core'
import { openShards } from './open-shards.ts'
import { checkShardCount } from './options.ts'

/** Shards in memory, gone when the driver is closed. Every `connect` gives fresh, empty ones. Throws `BAD_OPTION`. */
export function memoryShards(count = 1): DriverFactory {
  const shardCount = checkShardCount(count)
  return {
    shardCount,
    connect: ({ statements } = {}) =>
      openShards(
        Array.from({ length: shardCount }, (_, number) => ({ name: `memory ${number}`, file: ':memory:' })),
        // Nothing outlives the process anyway.
        { durability: 'normal', deadlineMs: 5_000, entityTable: 'entities', statements },
      ),
  }
}
