import type { Driver, DriverFactory } from '@looseleaf/core'

/** Shards for several stores, as of several processes, none of which closes the driver. For tests. */
export function keepOpen(driver: Driver): DriverFactory {
  return {
    shardCount: driver.shards.length,
    connect: async () => ({ shards: driver.shards, close: async () => {} }),
  }
}
