import { optionKinds, type CallOptions, type Entity, type OptionKinds } from '@looseleaf/core'
import {
  definitionData,
  planQuery,
  requireDefinition,
  type IndexDefinition,
  type IndexedEntity,
  type IndexProperties,
  type QueryOptions,
  type Where,
} from '@looseleaf/index-engine'
import { checkStore } from '@looseleaf/protocol'
import type { DataStore } from '@looseleaf/store'
import type { ChangesStore } from '../changes-store.ts'
import { createCurrentPage, versionOf, type CurrentPage } from './watched-page.ts'

export interface WatchOptions extends CallOptions, Pick<QueryOptions, 'order' | 'limit' | 'scatter'> {}

/** A page as it is now, and how it differs from the one that was given before. */
export interface WatchedPage<P extends IndexProperties> {
  readonly items: readonly IndexedEntity<P>[]
  /** Items that were not there; of the first page all. */
  readonly came: readonly IndexedEntity<P>[]
  /** Items that were there with another version. */
  readonly changed: readonly IndexedEntity<P>[]
  /** What was there and is not any more, as it was. */
  readonly left: readonly IndexedEntity<P>[]
}

export type WatchStore = ChangesStore & Pick<DataStore, 'query'>

const watchOptionKinds: OptionKinds<WatchOptions> = {
  signal: optionKinds.signal,
  // The query looks at these.
  order: optionKinds.elsewhere,
  limit: optionKinds.elsewhere,
  scatter: optionKinds.elsewhere,
}

/** The pages of each store that somebody watches, by what was asked. */
const watched = new WeakMap<ChangesStore['context'], Map<string, CurrentPage>>()

/**
 * The first page of a query, and again whenever it has changed, until the loop is left or the signal fires: what a write changes comes within about half a
 * second. Who is slow gets the latest page, and what has come, changed and left since the one before. Everybody in this process who watches
 * one page shares its queries. Throws what `query` throws.
 */
export async function* watch<const P extends IndexProperties>(
  store: WatchStore,
  index: IndexDefinition<P>,
  where: Where<P>,
  options: WatchOptions = {},
): AsyncGenerator<WatchedPage<P>, void, undefined> {
  checkStore('watch', store, options, watchOptionKinds)
  requireDefinition('watch', index)
  const page = pageOf(store, index, where, options)
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
        came: items.filter(({ id }) => !before.has(id)),
        changed: items.filter((item) => {
          const was = before.get(item.id)
          return was !== undefined && versionOf(was) !== versionOf(item)
        }),
        left: [...before.values()].filter(({ id }) => !now.has(id)),
      }
      before = now
      // Every item matched a row of the index, so it has the indexed properties.
      yield difference as unknown as WatchedPage<P>
    }
  } finally {
    page.leave()
  }
}

function pageOf<const P extends IndexProperties>(
  store: WatchStore,
  index: IndexDefinition<P>,
  where: Where<P>,
  { order, limit, scatter }: WatchOptions,
): CurrentPage {
  const { context } = store
  const query = { order, limit, scatter }
  // The generation stands for any.
  const entry = { ...definitionData(index), generation: 1 }
  // Checks all that is asked, too.
  planQuery(entry, where, query, context.router)
  // Others may share the page, whatever becomes of the caller's object.
  const own = structuredClone(where)
  const plan = planQuery(entry, own, query, context.router)
  let pages = watched.get(context)
  if (pages === undefined) watched.set(context, (pages = new Map()))
  const { index: ofIndex, where: ofWhere } = plan.scope.hashes()
  const key = [
    index.name,
    ofIndex.toString('hex'),
    ofWhere.toString('hex'),
    plan.order,
    plan.limit,
    index.expires,
  ].join(' ')
  let page = pages.get(key)
  if (page === undefined) {
    const made = createCurrentPage(
      context,
      {
        read: () => store.query(index, own, query),
        matches: plan.matches,
      },
      () => {
        if (pages.get(key) === made) pages.delete(key)
      },
    )
    pages.set(key, (page = made))
  }
  return page
}
