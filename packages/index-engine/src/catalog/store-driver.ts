import type { Driver } from '@looseleaf/core'
import type { StoreLayout } from '@looseleaf/core/internal'

/** Connections to all shards of a store, also to those that join it while the process runs. */
export interface StoreDriver extends Driver {
  /**
   * Appends the shards of a layout that `shards` lacks. Sends nothing: the first call of such a shard connects, and checks that it is that
   * shard of the store. Until the check has passed, its calls reject with `SHARD_UNAVAILABLE`, and each of them tries again. Absent while a
   * store is being opened.
   */
  follow?(layout: StoreLayout): void
}
