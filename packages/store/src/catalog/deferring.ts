import { changeCatalogContents, type EngineContext } from '@looseleaf/index-engine'
import { NOTICE_MS } from './catalog-watch.ts'

/**
 * Queries look for pending rows only in a store whose catalog says that there may be some. So nobody may defer before
 * every process has read that.
 *
 * Makes it known, once in the life of a store, that queries have to look for pending rows: `mayDefer` is there as false
 * when all shards have heard of it, and true when every process has. A store that was made by a process that defers has
 * it from the beginning.
 */
export async function announceDeferring(context: EngineContext): Promise<void> {
  if (context.catalog.current().everyoneLooks) return
  await setMayDefer(context, false)
  await context.time.sleep(NOTICE_MS)
  await setMayDefer(context, true)
}

async function setMayDefer({ driver, catalog }: EngineContext, value: boolean): Promise<void> {
  const changed = await changeCatalogContents(driver, ({ indexes, mayDefer }) =>
    mayDefer === true || mayDefer === value ? undefined : { indexes, mayDefer: value },
  )
  catalog.adopt(changed)
}
