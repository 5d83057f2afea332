import type { Driver, DriverFactory } from '@looseleaf/core'

/** Returns a factory for several stores over one driver, like several processes. No store closes the driver, or a shard that it leaves. */
export function keepOpen(driver: Driver): DriverFactory {
  return {
    shardCount: driver.shards.length,
    connect: async () => {
      const { leave: _, ...kept } = driver
      return { ...kept, close: async () => {} }
    },
  }
}
