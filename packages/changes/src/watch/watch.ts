import type { Entity } from '@looseleaf/core'
import { getOrInsert, optionKinds, untilSignal, type OptionKinds } from '@looseleaf/core/internal'
import type {
  IndexDefinition,
  IndexedEntity,
  IndexProperties,
  QueryOptions,
  Where,
} from '@looseleaf/index-engine'
import { definitionData, planQuery, requireDefinition } from '@looseleaf/index-engine/internal'
import { checkStore, type AnyStore } from '@looseleaf/protocol/internal'
import type { DataStore } from '@looseleaf/store'
import { createCurrentPage, versionOf, type CurrentPage } from './watched-page.ts'

export interface WatchOptions extends Pick<QueryOptions, 'order' | 'limit' | 'scatter'> {
  /** Ends the loop without an error when it fires. A signal that has fired before yields nothing. */
  readonly signal?: AbortSignal | undefined
}

/** The current page, and its difference to the page that this loop got before. */
export interface WatchedPage<P extends IndexProperties> {
  readonly items: readonly IndexedEntity<P>[]
  /** Items that the page before did not have; all items of the first page. */
  readonly added: readonly IndexedEntity<P>[]
  /** Items that the page before had with another version. */
  readonly changed: readonly IndexedEntity<P>[]
  /** Items that only the page before had, as they were then. */
  readonly removed: readonly IndexedEntity<P>[]
}

export type WatchStore = AnyStore & Pick<DataStore, 'query'>

const watchOptionKinds: OptionKinds<WatchOptions> = {
  signal: optionKinds.signal,
  // `planQuery` checks these.
  order: optionKinds.elsewhere,
  limit: optionKinds.elsewhere,
  scatter: optionKinds.elsewhere,
}

/** The watched pages of each store, by their query. */
const watched = new WeakMap<AnyStore['context'], Map<string, CurrentPage>>()

/**
 * Yields the first page of a query, and the page again whenever it has changed, until the loop is left or the signal fires. A write shows
 * within about half a second; an item leaves the page when it expires, by the clock of the process. A slow loop skips pages; its next one is
 * the latest, compared with the last one that it got. Loops in one process that watch the same page share its queries. Throws the errors of
 * `query`, except retryable ones, after which it queries again, and `CLOSED` when the store is closed. The signal ends the loop without an
 * error.
 */
export function watch<const P extends IndexProperties>(
  store: WatchStore,
  index: IndexDefinition<P>,
  where: Where<P>,
  options: WatchOptions = {},
): AsyncGenerator<WatchedPage<P>, void, undefined> {
  return untilSignal(
    () => {
      checkStore('watch', store, options, watchOptionKinds)
      requireDefinition('watch', index)
      return options.signal
    },
    (signal) => pagesOf(store, index, where, { ...options, signal }),
  )
}

async function* pagesOf<const P extends IndexProperties>(
  store: WatchStore,
  index: IndexDefinition<P>,
  where: Where<P>,
  options: WatchOptions,
): AsyncGenerator<WatchedPage<P>, void, undefined> {
  const page = currentPageOf(store, index, where, options)
  const { signal } = options
  page.enter()
  try {
    let before: ReadonlyMap<string, Entity> = new Map()
    for (let generation = 0; ;) {
      await page.after(generation, signal)
      const items = [...page.items]
      generation = page.generation
      const now = new Map(items.map((item) => [item.id as string, item]))
      const difference = {
        items,
        added: items.filter(({ id }) => !before.has(id)),
        changed: items.filter((item) => {
          const was = before.get(item.id)
          return was !== undefined && versionOf(was) !== versionOf(item)
        }),
        removed: [...before.values()].filter(({ id }) => !now.has(id)),
      }
      before = now
      // Every item matched a row of the index, so it has the indexed properties.
      yield difference as unknown as WatchedPage<P>
    }
  } finally {
    page.leave()
  }
}

function currentPageOf<const P extends IndexProperties>(
  store: WatchStore,
  index: IndexDefinition<P>,
  where: Where<P>,
  { order, limit, scatter }: WatchOptions,
): CurrentPage {
  const { context } = store
  const query = { order, limit, scatter }
  // `planQuery` needs a generation; any will do.
  const entry = { ...definitionData(index), generation: 1 }
  // Checks `where` and the options before `where` is copied.
  const { placement } = context.catalog.current()
  planQuery(entry, where, query, placement)
  // Other loops may share the page, so later changes to the caller's object must not affect it.
  const ownWhere = structuredClone(where)
  const plan = planQuery(entry, ownWhere, query, placement)
  const pages = getOrInsert(watched, context, () => new Map())
  const { index: indexHash, where: whereHash } = plan.scope.hashes()
  const key = [
    index.name,
    indexHash.toString('hex'),
    whereHash.toString('hex'),
    plan.order,
    plan.limit,
    index.expires,
  ].join(' ')
  let page = pages.get(key)
  if (page === undefined) {
    const source = {
      read: () => store.query(index, ownWhere, query),
      matches: plan.matches,
      expires: index.expires,
    }
    const created = createCurrentPage(context, source, () => {
      if (pages.get(key) === created) pages.delete(key)
    })
    pages.set(key, (page = created))
  }
  return page
}
