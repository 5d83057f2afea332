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
import type { SiteData } from './entities.ts'
import { addQueryCost, emptyCost, type PageCost } from './page-cost.ts'
import type { Sent } from './sent.ts'

/** Queries of one shard each, of an index that is sharded on its first property. */
type Wheres<T, Keys extends readonly unknown[], W> = CheckedWheres<T, Keys, undefined, W, undefined>

export interface List<One> {
  readonly items: readonly One[]
  /** Leads to the next page; undefined at the end. */
  readonly cursor?: string | undefined
  /** Leads to the page before; undefined on the first one. */
  readonly previous?: string | undefined
}

/** Some of the items that match, and how many there are in all. */
export interface Some<One> {
  readonly items: readonly One[]
  readonly total: number
}

/** The reads of one page: all of them go through here, so that the page can say what it cost. */
export interface Reader {
  readonly cost: PageCost
  readonly data: SiteData
  get<In, Out>(kind: Entities<In, Out>, id: EntityId): Promise<Item<Out> | undefined>
  /** Those that are there, by their ids. What is asked at the same time, of whichever kinds, is one read of each shard. */
  getMany<In, Out>(
    kind: Entities<In, Out>,
    ids: readonly (EntityId | undefined)[],
  ): Promise<ReadonlyMap<EntityId, Item<Out>>>
  /** Newest first, unless `order` says otherwise. */
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
  /** The newest that match each of these conditions, and how many there are: a statement a shard, and one for their entities. */
  newest<T, Keys extends readonly unknown[], const W extends object>(
    index: IndexOf<T, Keys>,
    wheres: Wheres<T, Keys, W>,
    limit: number,
  ): Promise<readonly Some<Item<T>>[]>
  /** The same of an index with `include`, as its rows tell: no entity is read. */
  rows<T, Keys extends readonly unknown[], Included, const W extends object>(
    index: IndexOf<T, Keys, Included>,
    wheres: Wheres<T, Keys, W>,
    limit: number,
  ): Promise<readonly Some<ListItem<T, Keys, Included>>[]>
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
    const wanted = [...new Set(ids)].filter((id) => id !== undefined)
    if (wanted.length === 0) return new Map()
    const found = (await kind.getMany(wanted)).filter((item) => item !== undefined)
    cost.entities += found.length
    return new Map(found.map((item) => [item.id, item]))
  }

  /** Counts where there are more than those of the page: index rows, in one statement a shard. */
  async function withTotals<T, Keys extends readonly unknown[], W, One>(
    wheres: Wheres<T, Keys, W>,
    pages: readonly { readonly items: readonly One[]; readonly cursor?: string }[],
    countMany: (wheres: Wheres<T, Keys, W>) => Promise<number[]>,
  ): Promise<readonly Some<One>[]> {
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
