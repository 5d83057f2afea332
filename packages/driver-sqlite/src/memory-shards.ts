import type { DriverFactory } from '@looseleaf/core'
import { requireKind } from '@looseleaf/core/internal'
import { openShards } from './open-shards.ts'
import { shardCountKind } from './options.ts'

/** Describes shards in memory. Each `connect` creates empty ones, which last until the driver is closed. Throws `BAD_OPTION`. */
export function memoryShards(shardCount = 1): DriverFactory {
  requireKind('The number of shards of memoryShards', shardCount, shardCountKind)
  return {
    shardCount,
    connect: ({ statements } = {}) =>
      openShards(
        Array.from({ length: shardCount }, (_, number) => ({ name: `memory ${number}`, file: ':memory:' })),
        // A database in memory ends with the process, so `full` would add nothing.
        { durability: 'normal', deadlineMs: 5_000, entityTable: 'entities', statements },
      ),
  }
}
