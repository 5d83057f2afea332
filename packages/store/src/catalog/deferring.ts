import type { CallOptions } from '@looseleaf/core'
import { changeCatalogContents, type EngineContext } from '@looseleaf/index-engine'
import { NOTICE_MS } from './catalog-watch.ts'

/**
 * Queries look for pending rows only in a store whose catalog says that there may be some. So nobody may defer before
 * every process has read that.
 *
 * Makes it known, once in the life of a store, that queries have to look for pending rows: `mayDefer` is there as false
 * when all shards have heard of it. When this resolves every process has, and it may become true. A store that was made to
 * defer has it from the beginning.
 */
export async function announceDeferring(
  { driver, catalog, time }: EngineContext,
  options?: CallOptions,
): Promise<void> {
  if (catalog.current().everyoneLooks) return
  await changeCatalogContents(
    driver,
    (contents) => (contents.mayDefer === undefined ? { ...contents, mayDefer: false } : undefined),
    options,
  )
  await time.sleep(NOTICE_MS, options?.signal)
}
