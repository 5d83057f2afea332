import {
  abortedError,
  formatId,
  isLooseleafError,
  metaOf,
  type Bag,
  type Entity,
  type EntityId,
  type EntityRow,
} from '@looseleaf/core'
import { decodeBody, type EngineContext } from '@looseleaf/index-engine'
import { hubOf, type ChangeListener } from './change-hub.ts'

/** A page that is asked for again whenever a change may concern it, for everybody who watches it. */
export interface CurrentPage {
  readonly items: readonly Entity[]
  /** Grows whenever the items are others. 0 before they were read for the first time. */
  readonly generation: number
  /** Resolves when the generation is above this one; rejects when the page cannot be read any more, or the signal fires. */
  after(generation: number, signal: AbortSignal | undefined): Promise<void>
  enter(): void
  leave(): void
}

export interface PageSource {
  /** Asks the store. */
  readonly read: () => Promise<{
    readonly items: readonly Entity[]
    readonly cost: { readonly complete: boolean }
  }>
  /** Whether an entity with this bag belongs on some page of the query. */
  readonly matches: (bag: Bag) => boolean
}

const RETRY_MS = 1_000

export function createCurrentPage(
  context: EngineContext,
  { read, matches }: PageSource,
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
  /** Entities that were changed while the page was being read: its answer may be from before. */
  const changedMeanwhile = new Set<EntityId>()

  function concerns(row: EntityRow, shard: string): boolean {
    if (ids.has(formatId(row.id))) return true
    try {
      const bag = decodeBody(context.codec, row, shard)
      return bag !== undefined && matches(bag)
    } catch {
      // The query meets it too, and says what is wrong.
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
    onEmpty()
  }

  function take(found: readonly Entity[]): void {
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
      changedMeanwhile.clear()
      try {
        const { items: found, cost } = await read()
        take(found)
        if (!cost.complete) {
          // What it lacks is no change of an entity when it comes, such as a row that was left to a cleaner.
          isStale = true
          await context.time.sleep(RETRY_MS)
          continue
        }
        if (items.some(({ id }) => changedMeanwhile.has(id))) isStale = true
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
      if (isReading) for (const { id } of rows) changedMeanwhile.add(formatId(id))
      if (!isStale && rows.some((row) => concerns(row, shard))) isStale = true
      if (isStale) void refresh()
    },
    missed() {
      isStale = true
      void refresh()
    },
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
        const leave = (): void => {
          waiting.delete(one)
          signal?.removeEventListener('abort', onAbort)
        }
        const one = {
          resolve() {
            leave()
            resolve()
          },
          reject(error: unknown) {
            leave()
            reject(error as Error)
          },
        }
        const onAbort = (): void => one.reject(abortedError(signal))
        waiting.add(one)
        signal?.addEventListener('abort', onAbort, { once: true })
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
