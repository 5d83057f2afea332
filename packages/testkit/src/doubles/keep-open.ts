import type { Driver, DriverFactory } from '@looseleaf/core'

/** Returns a factory for several stores over one driver, like several processes. No store closes the driver. */
export function keepOpen(driver: Driver): DriverFactory {
  return {
    shardCount: driver.shards.length,
    connect: async () => ({ ...driver, close: async () => {} }),
  }
}
