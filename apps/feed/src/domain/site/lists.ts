import { SKIP } from './partial-reads.ts'
import type { CheckedWheres, Entities, EntityId, IndexOf, Item } from 'looseleaf'

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

/** Conditions for several queries of an index. Each query asks one shard. */
type Wheres<T, Keys extends readonly unknown[], W> = CheckedWheres<T, Keys, undefined, W, undefined>

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

/** Returns the newest matches of each condition with their number, by a statement per shard, and one more for the entities. */
export async function newestOfEach<T, Keys extends readonly unknown[], const W extends object>(
  index: IndexOf<T, Keys>,
  wheres: Wheres<T, Keys, W>,
  limit: number,
): Promise<readonly Excerpt<Item<T>>[]> {
  if (wheres.length === 0) return []
  const pages = await index.pageMany<W>(wheres, { order: 'desc', limit, ...SKIP })
  return withTotals(index, wheres, pages)
}

/** Counts only the conditions with more than a page of matches: their index rows, by one statement per shard. */
async function withTotals<T, Keys extends readonly unknown[], Included, const W extends object, Found>(
  index: IndexOf<T, Keys, Included>,
  wheres: Wheres<T, Keys, W>,
  pages: readonly { readonly items: readonly Found[]; readonly cursor?: string }[],
): Promise<readonly Excerpt<Found>[]> {
  const longer = [...pages.keys()].filter((i) => pages[i]?.cursor !== undefined)
  const counts =
    longer.length > 0
      ? await index.countMany<W, undefined, 'skip'>(
          longer.map((i) => wheres[i]!),
          { exact: false, ...SKIP },
        )
      : []
  const totals = new Map(longer.map((i, at) => [i, counts[at]?.count]))
  return pages.map(({ items }, i) => ({ items, total: totals.get(i) ?? items.length }))
}
