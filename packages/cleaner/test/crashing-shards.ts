import type { Driver, DriverFactory } from '@looseleaf/core'
import {
  createReferenceDriver,
  type ReferenceDriver,
  type ShardState,
} from '@looseleaf-tooling/reference-driver'
import { faultyDriver, type FaultPlan } from '@looseleaf/testkit'

/** Shards whose disks can hang: what is committed then is visible, and on disk only after a flush. */
export interface CrashingShards {
  readonly reference: ReferenceDriver
  /** As processes have them. */
  readonly factory: DriverFactory
  /** From now on commits on this shard are not written to disk. */
  hang(shard: number): void
  /** Its server falls back to what is on disk, and comes back. */
  crash(shard: number): void
}

export function crashingShards(count: number, plan: FaultPlan): CrashingShards {
  const reference = createReferenceDriver({ shards: count })
  const onDisk = new Map<number, ShardState>()
  const shards = reference.shards.map((shard, number) => ({
    ...shard,
    async flush() {
      if (onDisk.has(number)) onDisk.set(number, shard.state())
    },
  }))
  const driver: Driver = { shards, close: async () => {} }
  return {
    reference,
    factory: { shardCount: count, connect: async () => faultyDriver(driver, plan) },
    hang: (number) => void onDisk.set(number, reference.shards[number]!.state()),
    crash(number) {
      const state = onDisk.get(number)
      if (state !== undefined) reference.shards[number]!.fallBack(state, 'everything')
    },
  }
}
