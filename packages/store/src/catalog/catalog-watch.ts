import { isLooseleafError, type Shard } from '@looseleaf/core'
import { loadShardCatalog, type EngineContext } from '@looseleaf/index-engine/internal'
import { createCarefulAge, LOOK_MS, type Looks } from '@looseleaf/protocol/internal'

/*
 * 1. Writers know every change of the catalog, because their writes carry its epoch.
 * 2. A process that only reads looks at the catalog of a shard if its own is older than `LOOK_MS`.
 * 3. A process that changes something readers must know waits `NOTICE_MS` after the change is on all shards, and relies on it then.
 */

/** Milliseconds after which every process knows a change. Well above `LOOK_MS`, because clocks run at different rates. */
export const NOTICE_MS = 5_000

/** Keeps the catalog of a process that only reads current. */
export interface CatalogWatch {
  /**
   * Returns true if index rows of committed entities may be pending, by a catalog that is at most some seconds old. Asks only this shard,
   * which the query needs anyway. Throws `STORE_TOO_NEW`.
   */
  mayBePending(shard: number): Promise<boolean>
}

interface CatalogCheck {
  readonly isOld: () => boolean
  readonly answer: Promise<boolean>
}

export function createCatalogWatch(
  { driver, time, catalog, events }: EngineContext,
  looks: Looks,
): CatalogWatch {
  /** The age check of the last look that found the catalog in memory current. */
  let isOld = (): boolean => true
  const inFlight = new Map<number, CatalogCheck>()

  async function look(number: number, lookIsOld: CatalogCheck['isOld']): Promise<boolean> {
    try {
      const shard = driver.shards[number] as Shard
      const found = await looks.of(shard).by(
        () => loadShardCatalog(shard),
        (loaded) => loaded?.epoch,
      )
      const isKnown = (): boolean => found?.epoch === catalog.current().epochs[number]
      // The answer of one shard is enough. If the others do not answer, the next look reads them.
      // A catalog that this process cannot use throws at the next `current`.
      if (!isKnown()) await catalog.reload().catch(() => undefined)
      if (isKnown()) isOld = lookIsOld
      return found?.mayDefer !== undefined || catalog.current().mayDefer
    } catch (error) {
      // Makes every call of the process fail, not just this query.
      if (isLooseleafError(error, 'STORE_TOO_NEW')) await catalog.reload()
      throw error
    } finally {
      inFlight.delete(number)
    }
  }

  function begin(number: number): CatalogCheck {
    const age = createCarefulAge(time, LOOK_MS)
    // The answer is for every call of the process, so the statement belongs to none.
    const begun: CatalogCheck = { isOld: age, answer: events.detached(() => look(number, age)) }
    inFlight.set(number, begun)
    return begun
  }

  /** Tells whether a look of another kind has found the catalog in memory current. */
  function isCurrent(number: number): boolean {
    const { last } = looks.of(driver.shards[number] as Shard)
    return (
      last !== undefined && last.epoch === catalog.current().epochs[number] && !last.isDue() && !last.isOld()
    )
  }

  return {
    async mayBePending(number) {
      if (!isOld() || isCurrent(number)) return catalog.current().mayDefer
      const current = inFlight.get(number)
      return (current === undefined || current.isOld() ? begin(number) : current).answer
    },
  }
}
