import { formatId, isLooseleafError, metaOf, type Bag, type Entity, type EntityId } from '@looseleaf/core'
import { abortedError, type EntityRow } from '@looseleaf/core/internal'
import { decodeBody, isPending, type EngineContext } from '@looseleaf/index-engine/internal'
import { hubOf, type ChangeListener } from './change-hub.ts'
import { createExpiryTimer } from './expiry-timer.ts'

/** A page that is queried again whenever a change may concern it, once for all of its watchers. */
export interface CurrentPage {
  readonly items: readonly Entity[]
  /** Grows whenever the items change. 0 before the first query has ended. */
  readonly generation: number
  /** Resolves when the generation is above this one. Rejects when a query fails for good, or when the signal fires. */
  after(generation: number, signal: AbortSignal | undefined): Promise<void>
  enter(): void
  leave(): void
}

export interface PageSource {
  readonly read: () => Promise<{
    readonly items: readonly Entity[]
    readonly cost: { readonly complete: boolean }
  }>
  readonly matches: (bag: Bag) => boolean
  /** The path of the time from which the query hides an item. */
  readonly expires: string | undefined
}

const RETRY_MS = 1_000

export function createCurrentPage(
  context: EngineContext,
  { read, matches, expires }: PageSource,
  onEmpty: () => void,
): CurrentPage {
  const hub = hubOf(context)
  let items: readonly Entity[] = []
  let ids: ReadonlySet<EntityId> = new Set()
  let generation = 0
  let watchers = 0
  let isStale = true
  let isReading = false
  let failure: { readonly error: unknown } | undefined
  const waiting = new Set<{ readonly resolve: () => void; readonly reject: (error: unknown) => void }>()
  /** Entities that changed during the query in flight; its result may be older. */
  const changedDuringRead = new Set<EntityId>()
  // A query hides an item from the time of its expiry, which is no change of the entity.
  const expiry = createExpiryTimer(context.time, expires, queryAgain)

  function queryAgain(): void {
    isStale = true
    void refresh()
  }

  function concerns(row: EntityRow, shard: string): boolean {
    if (ids.has(formatId(row.id))) return true
    try {
      const bag = decodeBody(context, row, shard)
      if (isPending(bag)) {
        // Loads codec entries for the next change. Until then the query decides.
        bag.catch(() => {})
        return true
      }
      return bag !== undefined && matches(bag)
    } catch {
      // The query decodes the same body and reports the error.
      return true
    }
  }

  function fail(error: unknown): void {
    failure = { error }
    for (const { reject } of waiting) reject(error)
    end()
  }

  function end(): void {
    hub.leave(listener)
    expiry.stop()
    onEmpty()
  }

  function take(found: readonly Entity[]): void {
    expiry.await(found)
    const isSame =
      generation > 0 &&
      found.length === items.length &&
      found.every((item, i) => item.id === items[i]!.id && versionOf(item) === versionOf(items[i]!))
    if (isSame) return
    items = found
    ids = new Set(found.map(({ id }) => id))
    generation++
    for (const { resolve } of waiting) resolve()
  }

  async function refresh(): Promise<void> {
    if (isReading) return
    isReading = true
    while (isStale && watchers > 0 && failure === undefined) {
      isStale = false
      changedDuringRead.clear()
      try {
        const { items: found, cost } = await read()
        // The page has ended during the query. Its timer has been stopped, and must not start again.
        if (watchers === 0 || failure !== undefined) break
        take(found)
        if (!cost.complete) {
          // Poll: when a cleaner writes a pending index row, no entity changes, so the listener is not called.
          isStale = true
          await context.time.sleep(RETRY_MS)
        }
        if (items.some(({ id }) => changedDuringRead.has(id))) isStale = true
      } catch (error) {
        if (!isLooseleafError(error) || !error.retryable) return fail(error)
        isStale = true
        await context.time.sleep(RETRY_MS)
      }
    }
    isReading = false
  }

  const listener: ChangeListener = {
    changed(rows, shard) {
      if (isReading) for (const { id } of rows) changedDuringRead.add(formatId(id))
      if (!isStale && rows.some((row) => concerns(row, shard))) isStale = true
      if (isStale) void refresh()
    },
    missed: queryAgain,
    failed: fail,
  }

  return {
    get items() {
      return items
    },
    get generation() {
      return generation
    },
    after(seen, signal) {
      if (signal?.aborted) return Promise.reject(abortedError(signal))
      if (failure !== undefined) return Promise.reject(failure.error)
      if (generation > seen) return Promise.resolve()
      return new Promise((resolve, reject) => {
        const stopWaiting = (): void => {
          waiting.delete(waiter)
          signal?.removeEventListener('abort', onAbort)
        }
        const waiter = {
          resolve() {
            stopWaiting()
            resolve()
          },
          reject(error: unknown) {
            stopWaiting()
            reject(error as Error)
          },
        }
        const onAbort = (): void => waiter.reject(abortedError(signal))
        waiting.add(waiter)
        signal?.addEventListener('abort', onAbort)
      })
    },
    enter() {
      if (++watchers === 1) hub.join(listener).then(() => void refresh(), fail)
    },
    leave() {
      if (--watchers === 0 && failure === undefined) end()
    },
  }
}

export function versionOf(item: Entity): number {
  return metaOf(item)?.version ?? 0
}
