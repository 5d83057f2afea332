import {
  abortedError,
  type CallOptions,
  type Codec,
  type Driver,
  type Router,
  type Time,
  type VersionClock,
} from '@looseleaf/core'
import { loadCatalog } from './change-catalog.ts'
import type { Catalog } from './catalog.ts'

/** What a store is made of, for those who work beneath its face: the cleaner, the command line, tests. */
export interface EngineContext {
  readonly driver: Driver
  readonly router: Router
  readonly codec: Codec
  readonly time: Time
  readonly clock: VersionClock
  readonly catalog: CatalogHolder
  /**
   * How long a commit may still be lost by a failover, in milliseconds: rows that it made superfluous stay until it is
   * older than that. 0 where no acknowledged commit is ever lost.
   */
  readonly deleteDelayMs: number
}

/** The process's own copy of the catalog. */
export interface CatalogHolder {
  /** The copy at hand; nothing is sent. */
  current(): Catalog
  /** Reads all shards again; calls at the same time share one reading, and a signal ends the wait of its own call alone. */
  reload(options?: CallOptions): Promise<Catalog>
  /** Takes over a catalog that was just read. An older one is ignored. */
  adopt(catalog: Catalog): void
}

export function createCatalogHolder(driver: Driver, initial: Catalog): CatalogHolder {
  let current = initial
  let reading: Promise<Catalog> | undefined

  function adopt(catalog: Catalog): void {
    // Epochs only grow: a reading that is behind on any shard was overtaken by another one.
    if (catalog.epochs.every((epoch, shard) => epoch >= (current.epochs[shard] ?? 0))) current = catalog
  }

  return {
    current: () => current,
    adopt,
    reload(options) {
      if (options?.signal?.aborted) return Promise.reject(abortedError(options.signal))
      reading ??= loadCatalog(driver)
        .then((catalog) => {
          adopt(catalog)
          return current
        })
        .finally(() => {
          reading = undefined
        })
      return untilAborted(reading, options?.signal)
    },
  }
}

function untilAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(abortedError(signal))
    signal.addEventListener('abort', onAbort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}
