import {
  abortedError,
  isLooseleafError,
  untilAborted,
  type CallOptions,
  type Codec,
  type Driver,
  type LooseleafError,
  type Randomness,
  type Router,
  type StoreEvents,
  type Time,
  type VersionClock,
} from '@looseleaf/core'
import { mergeCatalogs, type Catalog } from './catalog.ts'
import type { Closing } from './closing.ts'
import { askMigratedShards } from './read-catalogs.ts'

/** What a store is made of, for those who work beneath its face: the cleaner, the command line, tests. */
export interface EngineContext {
  readonly driver: Driver
  readonly router: Router
  readonly codec: Codec
  readonly time: Time
  readonly random: Randomness
  readonly clock: VersionClock
  readonly catalog: CatalogHolder
  readonly events: StoreEvents
  /** For what works beneath the store and ends with it. */
  readonly closing: Closing
}

/** The process's own copy of the catalog. */
export interface CatalogHolder {
  /**
   * The copy at hand; nothing is sent. Throws `STORE_TOO_NEW` while the last reading has found something that this version
   * does not know: to go on by the copy before it could do harm.
   */
  current(): Catalog
  /** The copy at hand, also while `current` throws: for reports alone, which no write and no query goes by. */
  latest(): Catalog
  /**
   * Reads all shards again, not before this call: one that is under way may have missed what the caller knows of. Calls
   * that wait for the next one share it, and a signal ends the wait of its own call alone. A shard that does not answer
   * keeps what is known of it; rejects when none answers.
   */
  reload(options?: CallOptions): Promise<Catalog>
  /** Takes over a catalog that was just read. One that is behind is ignored. */
  adopt(catalog: Catalog): void
}

export function createCatalogHolder(driver: Driver, initial: Catalog): CatalogHolder {
  let current = initial
  let tooNew: LooseleafError | undefined
  let adoptions = 0
  let reading: Promise<Catalog> | undefined
  let next: Promise<Catalog> | undefined

  function replace(catalog: Catalog): void {
    current = catalog
    tooNew = undefined
    adoptions++
  }

  function adopt(catalog: Catalog): void {
    // A reading with a lower epoch of any shard was overtaken by another one.
    if (catalog.epochs.every((epoch, shard) => epoch >= (current.epochs[shard] ?? 0))) replace(catalog)
  }

  function read(): Promise<Catalog> {
    const before = adoptions
    reading = askMigratedShards(driver)
      .then(({ catalogs, silent }) => {
        const catalog = mergeCatalogs(
          catalogs.map((answer, shard) => answer ?? current.shards[shard]),
          [...silent.values()],
        )
        // Nothing has overtaken it: then epochs are lower because a failover has lost a change of the catalog.
        if (adoptions === before) replace(catalog)
        else adopt(catalog)
        return current
      })
      .catch((error: unknown) => {
        if (isLooseleafError(error, 'STORE_TOO_NEW')) tooNew = error
        throw error
      })
      .finally(() => {
        reading = undefined
      })
    return reading
  }

  function readNext(after: Promise<Catalog>): Promise<Catalog> {
    const begin = (): Promise<Catalog> => {
      next = undefined
      return read()
    }
    return after.then(begin, begin)
  }

  return {
    current() {
      if (tooNew !== undefined) throw tooNew
      return current
    },
    latest: () => current,
    adopt,
    reload(options) {
      if (options?.signal?.aborted) return Promise.reject(abortedError(options.signal))
      if (reading !== undefined) next ??= readNext(reading)
      return untilAborted(next ?? read(), options?.signal)
    },
  }
}
