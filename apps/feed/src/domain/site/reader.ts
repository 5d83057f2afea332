import type {
  CheckedWhere,
  CheckedWheres,
  Entities,
  EntityId,
  IndexOf,
  Item,
  ListItem,
  Page,
  QueryOptions,
  Scattered,
} from 'looseleaf'
import type { SiteData } from '../../kinds/site-data.ts'
import { addQueryCost, emptyCost, type PageCost } from './page-cost.ts'
import type { Sent } from './sent.ts'

/** Conditions for several queries of an index. Each query asks one shard. */
type Wheres<T, Keys extends readonly unknown[], W> = CheckedWheres<T, Keys, undefined, W, undefined>

export interface List<T> {
  readonly items: readonly T[]
  /** Cursor of the next page; undefined on the last one. */
  readonly cursor?: string | undefined
  /** Cursor of the previous page; undefined on the first one. */
  readonly previous?: string | undefined
}

/** The first of the matching items, and the number of all. */
export interface Excerpt<T> {
  readonly items: readonly T[]
  readonly total: number
}

/** Makes all reads of one page and adds up their cost. */
export interface Reader {
  readonly cost: PageCost
  readonly data: SiteData
  get<In, Out>(kind: Entities<In, Out>, id: EntityId): Promise<Item<Out> | undefined>
  /** Returns the existing entities by their ids. Concurrent calls share one read per shard, even for several kinds. */
  getMany<In, Out>(
    kind: Entities<In, Out>,
    ids: readonly (EntityId | undefined)[],
  ): Promise<ReadonlyMap<EntityId, Item<Out>>>
  /** Returns a page, newest first unless `order` says otherwise. */
  page<
    T,
    Keys extends readonly unknown[],
    ShardOn,
    const W extends object,
    Scatter extends boolean | undefined = undefined,
  >(
    index: IndexOf<T, Keys, never, ShardOn>,
    where: CheckedWhere<T, Keys, ShardOn, W, Scatter>,
    options: Scattered<QueryOptions, Scatter>,
  ): Promise<Page<T>>
  /** Returns the newest matches of each condition, with their total. Takes a statement per shard, and one more for the entities. */
  newest<T, Keys extends readonly unknown[], const W extends object>(
    index: IndexOf<T, Keys>,
    wheres: Wheres<T, Keys, W>,
    limit: number,
  ): Promise<readonly Excerpt<Item<T>>[]>
  /** Does the same from the rows of a covering index, without reading entities. */
  rows<T, Keys extends readonly unknown[], Included, const W extends object>(
    index: IndexOf<T, Keys, Included>,
    wheres: Wheres<T, Keys, W>,
    limit: number,
  ): Promise<readonly Excerpt<ListItem<T, Keys, Included>>[]>
  count<T, Keys extends readonly unknown[], const W extends object>(
    index: IndexOf<T, Keys>,
    where: CheckedWhere<T, Keys, undefined, W, undefined>,
  ): Promise<number>
}

export function createReader(data: SiteData, sent: () => Sent): Reader {
  const cost = emptyCost(sent)

  async function getMany<In, Out>(
    kind: Entities<In, Out>,
    ids: readonly (EntityId | undefined)[],
  ): Promise<ReadonlyMap<EntityId, Item<Out>>> {
    const distinct = [...new Set(ids)].filter((id) => id !== undefined)
    if (distinct.length === 0) return new Map()
    const found = (await kind.getMany(distinct)).filter((item) => item !== undefined)
    cost.entities += found.length
    return new Map(found.map((item) => [item.id, item]))
  }

  /** Adds totals. Only conditions with more than a page of matches are counted: their index rows, by one statement per shard. */
  async function withTotals<T, Keys extends readonly unknown[], W, Found>(
    wheres: Wheres<T, Keys, W>,
    pages: readonly { readonly items: readonly Found[]; readonly cursor?: string }[],
    countMany: (wheres: Wheres<T, Keys, W>) => Promise<number[]>,
  ): Promise<readonly Excerpt<Found>[]> {
    const longer = [...pages.keys()].filter((i) => pages[i]?.cursor !== undefined)
    const counts = longer.length > 0 ? await countMany(longer.map((i) => wheres[i]!)) : []
    const totals = new Map(longer.map((i, at) => [i, counts[at]]))
    return pages.map(({ items }, i) => ({ items, total: totals.get(i) ?? items.length }))
  }

  return {
    cost,
    data,
    getMany,
    async get(kind, id) {
      return (await getMany(kind, [id])).get(id)
    },
    async page<
      T,
      Keys extends readonly unknown[],
      ShardOn,
      const W extends object,
      Scatter extends boolean | undefined = undefined,
    >(
      index: IndexOf<T, Keys, never, ShardOn>,
      where: CheckedWhere<T, Keys, ShardOn, W, Scatter>,
      options: Scattered<QueryOptions, Scatter>,
    ) {
      const page = await index.page<W, Scatter>(where, { order: 'desc', ...options })
      addQueryCost(cost, page.cost)
      return page
    },
    async newest<T, Keys extends readonly unknown[], const W extends object>(
      index: IndexOf<T, Keys>,
      wheres: Wheres<T, Keys, W>,
      limit: number,
    ) {
      if (wheres.length === 0) return []
      const pages = await index.pageMany<W>(wheres, { order: 'desc', limit })
      for (const page of pages) addQueryCost(cost, page.cost)
      return withTotals(wheres, pages, (longer) => index.countMany<W>(longer, { exact: false }))
    },
    async rows<T, Keys extends readonly unknown[], Included, const W extends object>(
      index: IndexOf<T, Keys, Included>,
      wheres: Wheres<T, Keys, W>,
      limit: number,
    ) {
      const pages = await Promise.all(
        wheres.map((where) => index.list<W>(where, { order: 'desc', limit, verify: false })),
      )
      for (const page of pages) addQueryCost(cost, page.cost)
      return withTotals(wheres, pages, (longer) => index.countMany<W>(longer, { exact: false }))
    },
    count: <T, Keys extends readonly unknown[], const W extends object>(
      index: IndexOf<T, Keys>,
      where: CheckedWhere<T, Keys, undefined, W, undefined>,
    ) => index.count<W>(where, { exact: false }),
  }
}
