import type { Entities, EntityId, IndexOf, Item, ListItem, Page, QueryOptions, WhereOf } from 'looseleaf'
import type { SiteData } from './entities.ts'
import { addQueryCost, emptyCost, type PageCost } from './page-cost.ts'
import type { Sent } from './sent.ts'

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
  page<T, Keys extends readonly unknown[]>(
    index: IndexOf<T, Keys>,
    where: WhereOf<T, Keys>,
    options: QueryOptions,
  ): Promise<Page<T>>
  /** The newest that match each of these conditions, and how many there are: a statement a shard, and one for their entities. */
  newest<T, Keys extends readonly unknown[]>(
    index: IndexOf<T, Keys>,
    wheres: readonly WhereOf<T, Keys>[],
    limit: number,
  ): Promise<readonly Some<Item<T>>[]>
  /** The same of an index with `include`, as its rows tell: no entity is read. */
  rows<T, Keys extends readonly unknown[], Included>(
    index: IndexOf<T, Keys, Included>,
    wheres: readonly WhereOf<T, Keys>[],
    limit: number,
  ): Promise<readonly Some<ListItem<T, Keys, Included>>[]>
  count<T, Keys extends readonly unknown[]>(index: IndexOf<T, Keys>, where: WhereOf<T, Keys>): Promise<number>
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

  /** Only where there are more than those of the page, somebody has to count. */
  async function withTotals<T, Keys extends readonly unknown[], One>(
    index: IndexOf<T, Keys>,
    wheres: readonly WhereOf<T, Keys>[],
    pages: readonly { readonly items: readonly One[]; readonly cursor?: string }[],
  ): Promise<readonly Some<One>[]> {
    const longer = wheres.filter((_, i) => pages[i]?.cursor !== undefined)
    const counts = longer.length > 0 ? await index.countMany(longer) : []
    const totals = new Map(longer.map((where, i) => [where, counts[i]]))
    return pages.map(({ items }, i) => ({ items, total: totals.get(wheres[i]!) ?? items.length }))
  }

  return {
    cost,
    data,
    getMany,
    async get(kind, id) {
      return (await getMany(kind, [id])).get(id)
    },
    async page(index, where, options) {
      const page = await index.page(where, { order: 'desc', ...options })
      addQueryCost(cost, page.cost)
      return page
    },
    async newest(index, wheres, limit) {
      if (wheres.length === 0) return []
      const pages = await index.pageMany(wheres, { order: 'desc', limit })
      for (const page of pages) addQueryCost(cost, page.cost)
      return withTotals(index, wheres, pages)
    },
    async rows(index, wheres, limit) {
      const pages = await Promise.all(
        wheres.map((where) => index.list(where, { order: 'desc', limit, verify: false })),
      )
      for (const page of pages) addQueryCost(cost, page.cost)
      return withTotals(index, wheres, pages)
    },
    count: (index, where) => index.count(where),
  }
}
