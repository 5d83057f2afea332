import { SKIP } from './partial-reads.ts'
import type { Entities, EntityId, Item } from 'looseleaf'

export interface List<T> {
  readonly items: readonly T[]
  /** Cursor of the next page; undefined on the last one. */
  readonly cursor?: string | undefined
  /** Cursor of the previous page; undefined on the first one. */
  readonly previous?: string | undefined
}

/** Reads the pages of a list one after the other, each when the loop has done its work on the page before. */
export async function* pagesOf<Page extends { readonly cursor?: string | undefined }>(
  read: (cursor: string | undefined) => Promise<Page>,
): AsyncGenerator<Page> {
  let cursor: string | undefined
  do {
    const page = await read(cursor)
    yield page
    cursor = page.cursor
  } while (cursor !== undefined)
}

/** The first of the matching items, and the number of all. */
export interface Excerpt<T> {
  readonly items: readonly T[]
  readonly total: number
}

/** Returns the existing entities by their ids, without those on shards that do not answer. Asks nothing without an id. */
export async function byId<In, Out>(
  kind: Entities<In, Out>,
  ids: readonly (EntityId | undefined)[],
): Promise<ReadonlyMap<EntityId, Item<Out>>> {
  const distinct = [...new Set(ids)].filter((id) => id !== undefined)
  if (distinct.length === 0) return new Map()
  const { items } = await kind.getMany(distinct, SKIP)
  return new Map(items.filter((item) => item !== undefined).map((item) => [item.id, item]))
}
