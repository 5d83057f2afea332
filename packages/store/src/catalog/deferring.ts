import type { CallOptions } from '@looseleaf/core'
import { changeCatalogContents, type EngineContext } from '@looseleaf/index-engine/internal'
import { NOTICE_MS } from './catalog-watch.ts'

/**
 * Makes every process look for pending rows. Needed once in the life of a store; one that was made to defer has `mayDefer` from the
 * beginning.
 * 1. Queries look for pending rows only if the catalog has `mayDefer`, so a row deferred earlier would be missed in silence.
 * 2. This writes `mayDefer: false` to all shards, and waits until every process has read it.
 * 3. When it resolves, `mayDefer` may become true, and writers may defer.
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
