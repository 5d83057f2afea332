import type { Driver, DriverFactory } from '@looseleaf/core'
import { createReferenceDriver, type ReferenceDriver, type ShardState } from './reference-driver/index.ts'

/** Shards whose disks can hang: commits are then visible, but durable only after a flush. */
export interface CrashingShards {
  readonly reference: ReferenceDriver
  /** The shards as processes open them. */
  readonly factory: DriverFactory
  /** Makes later commits on this shard not durable. */
  hang(shard: number): void
  /** Restarts the server of this shard, which loses commits that are not durable. */
  crash(shard: number): void
}

/** Makes shards in memory. Processes open the driver that `through` returns, such as one with faults. */
export function crashingShards(count: number, through: (driver: Driver) => Driver): CrashingShards {
  const reference = createReferenceDriver({ shards: count })
  const durable = new Map<number, ShardState>()
  const shards = reference.shards.map((shard, number) => ({
    ...shard,
    async flush() {
      if (durable.has(number)) durable.set(number, shard.state())
    },
  }))
  const driver: Driver = { shards, close: async () => {} }
  return {
    reference,
    factory: { shardCount: count, connect: async () => through(driver) },
    hang: (number) => void durable.set(number, reference.shards[number]!.state()),
    crash(number) {
      const state = durable.get(number)
      if (state !== undefined) reference.shards[number]!.fallBack(state, 'everything')
    },
  }
}
