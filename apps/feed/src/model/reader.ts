import type { EntityId, IndexOf, Page, PageWithCount, QueryOptions, WhereOf } from 'looseleaf'
import type { SiteData } from './entities.ts'
import { addQueryCost, emptyCost, type PageCost } from './page-cost.ts'
import type { Sent } from './statement-counter.ts'

export interface List<Item> {
  readonly items: readonly Item[]
  /** Leads to the next page; undefined at the end. */
  readonly cursor?: string | undefined
  /** Leads to the page before; undefined on the first one. */
  readonly previous?: string | undefined
}

/** Entities of a kind that may be asked for by their ids. */
interface Entities<Item> {
  getMany(ids: readonly EntityId[]): Promise<readonly (Item | undefined)[]>
}

interface Identified {
  readonly id: EntityId
}

/** The reads of one page: all of them go through here, so that the page can say what it cost. */
export interface Reader {
  readonly cost: PageCost
  readonly data: SiteData
  get<Item extends Identified>(kind: Entities<Item>, id: EntityId): Promise<Item | undefined>
  /** Those that are there, by their ids. What is asked at the same time, of whichever kinds, is one read of each shard. */
  getMany<Item extends Identified>(
    kind: Entities<Item>,
    ids: readonly (EntityId | undefined)[],
  ): Promise<ReadonlyMap<EntityId, Item>>
  /** Newest first, unless `order` says otherwise. */
  page<T, Keys extends readonly unknown[]>(
    index: IndexOf<T, Keys>,
    where: WhereOf<Keys>,
    options: QueryOptions,
  ): Promise<Page<T>>
  /** The newest of each, and how many there are. */
  newest<T, Keys extends readonly unknown[]>(
    index: IndexOf<T, Keys>,
    wheres: readonly WhereOf<Keys>[],
    limit: number,
  ): Promise<readonly PageWithCount<T>[]>
  count<T, Keys extends readonly unknown[]>(index: IndexOf<T, Keys>, where: WhereOf<Keys>): Promise<number>
}

export function createReader(data: SiteData, sent: () => Sent): Reader {
  const cost = emptyCost(sent)

  async function getMany<Item extends Identified>(
    kind: Entities<Item>,
    ids: readonly (EntityId | undefined)[],
  ): Promise<ReadonlyMap<EntityId, Item>> {
    const wanted = [...new Set(ids)].filter((id) => id !== undefined)
    if (wanted.length === 0) return new Map()
    cost.questions++
    const found = (await kind.getMany(wanted)).filter((item) => item !== undefined)
    cost.entities += found.length
    return new Map(found.map((item) => [item.id, item]))
  }

  return {
    cost,
    data,
    getMany,
    async get(kind, id) {
      return (await getMany(kind, [id])).get(id)
    },
    async page(index, where, options) {
      cost.questions++
      const page = await index.page(where, { order: 'desc', ...options })
      addQueryCost(cost, page.cost)
      return page
    },
    async newest(index, wheres, limit) {
      if (wheres.length === 0) return []
      cost.questions++
      const pages = await index.pageMany(wheres, { order: 'desc', limit, count: true })
      for (const page of pages) addQueryCost(cost, page.cost)
      return pages
    },
    count(index, where) {
      cost.questions++
      return index.count(where)
    },
  }
}
