import type { Driver, Shard } from '@looseleaf/core'
import type { StoreLayout } from '@looseleaf/core/internal'

/** Connections to all shards of a store, also to those that join it while the process runs. */
export interface StoreDriver extends Driver {
  /**
   * The numbers of the removed shards, whose places in `shards` stay. Look at it when you need it, like `shards`; `presentShards` and
   * `presentNumbers` leave them out. Absent while a store is being opened.
   */
  readonly removed?: ReadonlySet<number>
  /**
   * Appends the shards of a layout that `shards` lacks, and takes out the ones with these numbers, which were removed. Sends nothing: the
   * first call of a new shard connects, and checks that it is that shard of the store. Until the check has passed, its calls reject with
   * `SHARD_UNAVAILABLE`, and each of them tries again. So do the calls of a shard whose number was that of another database before, whose
   * joining was undone. Absent while a store is being opened.
   */
  follow?(layout: StoreLayout, removed: readonly number[]): void
}

/** The part of a driver that tells which shards a store has. */
type ShardList = Pick<StoreDriver, 'shards' | 'removed'>

/** Returns the numbers of the shards that were not removed. */
export function presentNumbers({ shards, removed }: ShardList): readonly number[] {
  const numbers = Array.from(shards.keys())
  return removed === undefined || removed.size === 0
    ? numbers
    : numbers.filter((number) => !removed.has(number))
}

/** Returns the shards that were not removed, in the order of their numbers. */
export function presentShards(driver: ShardList): readonly Shard[] {
  return presentNumbers(driver).map((number) => driver.shards[number] as Shard)
}

/** Returns the shards that were not removed, each with its number. */
export function presentEntries(driver: ShardList): readonly (readonly [number: number, shard: Shard])[] {
  return presentNumbers(driver).map((number) => [number, driver.shards[number] as Shard])
}
