import { isLooseleafError, type Shard } from '@looseleaf/core'
import { loadShardCatalog, type EngineContext } from '@looseleaf/index-engine'
import { createCarefulAge } from './age.ts'

/*
 * Writers know every change of the catalog, because their writes carry its epoch. A process that only reads looks at the
 * catalog of a shard every now and then; and whoever changes what readers have to know waits for longer than that, once
 * all shards have been told, before relying on it.
 */

/** How old what a process knows may be when a query begins, in milliseconds. */
const LOOK_MS = 2_000
/** After so long every process knows; well above the other, as clocks do not run quite the same. */
export const NOTICE_MS = 5_000

/** Keeps the catalog of a process that only reads from growing old. */
export interface CatalogWatch {
  /**
   * Answers whether index rows of committed entities may be pending, as of this call, or some seconds before it. Asks no other
   * shard than this one, which the query needs anyway. Throws `STORE_TOO_NEW`.
   */
  mayBePending(shard: number): Promise<boolean>
}

interface CatalogCheck {
  readonly isOld: () => boolean
  readonly answer: Promise<boolean>
}

export function createCatalogWatch({ driver, time, catalog }: EngineContext): CatalogWatch {
  /** Of the last look after which the catalog at hand was that of the shard. */
  let isOld = (): boolean => true
  const underWay = new Map<number, CatalogCheck>()

  async function look(number: number, ownIsOld: CatalogCheck['isOld']): Promise<boolean> {
    try {
      const found = await loadShardCatalog(driver.shards[number] as Shard)
      const isKnown = (): boolean => found?.epoch === catalog.current().epochs[number]
      // What one shard says is enough to go by. If the others cannot be asked, they will be at the next look.
      // What is too new the copy at hand says when it is asked for.
      if (!isKnown()) await catalog.reload().catch(() => undefined)
      if (isKnown()) isOld = ownIsOld
      return found?.mayDefer !== undefined || catalog.current().mayDefer
    } catch (error) {
      // For the whole process, not for this query alone.
      if (isLooseleafError(error, 'STORE_TOO_NEW')) await catalog.reload()
      throw error
    } finally {
      underWay.delete(number)
    }
  }

  function begin(number: number): CatalogCheck {
    const age = createCarefulAge(time, LOOK_MS)
    const begun: CatalogCheck = { isOld: age, answer: look(number, age) }
    underWay.set(number, begun)
    return begun
  }

  return {
    async mayBePending(number) {
      if (!isOld()) return catalog.current().mayDefer
      const current = underWay.get(number)
      return (current === undefined || current.isOld() ? begin(number) : current).answer
    },
  }
}
