import { changeCatalogContents, type EngineContext } from '@looseleaf/index-engine'
import { createCarefulAge } from './age.ts'

/*
 * Queries look for pending rows only in a store whose catalog says that there may be some. So nobody may defer before
 * every process has read that. A process that only reads reads no catalog, so it looks at that of a shard every now and
 * then; and the first process that is to defer waits for longer than that once it has told all shards.
 */

/** How old what a process knows of this may be when a query begins, in milliseconds. */
const LOOK_MS = 2_000
/** The first process that defers waits for so long; well above the other, as clocks do not run quite the same. */
const NOTICE_MS = 5_000

/**
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

/** Knows whether queries have to look for pending rows. */
export interface DeferWatch {
  /** As of this call, or some seconds before it. Asks no other shard than this one, which the query needs anyway. */
  mayBePending(shard: number): Promise<boolean>
}

interface Look {
  readonly isOld: () => boolean
  readonly answer: Promise<boolean>
}

export function createDeferWatch({ driver, time, catalog }: EngineContext): DeferWatch {
  /** Of the last look that has found nothing. */
  let isOld = (): boolean => true
  const underWay = new Map<number, Look>()

  async function look(shard: number, ownIsOld: Look['isOld']): Promise<boolean> {
    try {
      const found = await driver.shards[shard]?.catalog.load()
      if (found?.mayDefer !== undefined) {
        // So that it need not be asked for again; if that fails, it will be.
        await catalog.reload().catch(() => undefined)
        return true
      }
      isOld = ownIsOld
      return false
    } finally {
      underWay.delete(shard)
    }
  }

  function begin(shard: number): Look {
    const age = createCarefulAge(time, LOOK_MS)
    const begun: Look = { isOld: age, answer: look(shard, age) }
    underWay.set(shard, begun)
    return begun
  }

  return {
    async mayBePending(shard) {
      if (catalog.current().mayDefer) return true
      if (!isOld()) return false
      const current = underWay.get(shard)
      return (current === undefined || current.isOld() ? begin(shard) : current).answer
    },
  }
}
