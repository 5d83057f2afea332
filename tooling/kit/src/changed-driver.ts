import type { Driver, DriverFactory, Shard } from '@looseleaf/core'
import { wrapShard, type EntityTable, type IndexTable, type ShardParts } from '@looseleaf/core/internal'

/** Replacements of parts of a driver; omitted methods stay. */
export interface Changes {
  readonly entities?: ((table: EntityTable, shard: number) => Partial<EntityTable>) | undefined
  /** Called once per table. */
  readonly index?: ShardParts['index']
  readonly shard?: ((shard: Shard, number: number) => Partial<Shard>) | undefined
}

/** Returns a driver with replaced parts, for example without a guard, delayed, failing, or observed. */
export function changed(driver: Driver, changes: Changes): Driver {
  const shards = driver.shards.map((shard, number) =>
    wrapShard(shard, {
      entities: (table) => changes.entities?.(table, number) ?? {},
      index(table, spec) {
        const parts = changes.index?.(table, spec) ?? {}
        return { ...manyOf(parts), ...parts }
      },
      shard: () => changes.shard?.(shard, number) ?? {},
    }),
  )
  return { shards, close: () => driver.close() }
}

/** Applies a change of one scan or count to the batch methods too. */
function manyOf({ scan, count }: Partial<IndexTable>): Partial<IndexTable> {
  return {
    ...(scan && { scanMany: (scans, options) => Promise.all(scans.map((one) => scan(one, options))) }),
    ...(count && { countMany: (ranges, options) => Promise.all(ranges.map((one) => count(one, options))) }),
  }
}

/** Changes each driver that a factory connects. */
export function through(shards: DriverFactory, change: (driver: Driver) => Driver): DriverFactory {
  return { shardCount: shards.shardCount, connect: async () => change(await shards.connect()) }
}
