import type { DataStore, Entity, IndexDefinition, IndexProperties, Where } from 'looseleaf'
import { addQueryCost, emptyCost, type PageCost } from './page-cost.ts'
import type { Sent } from './statement-counter.ts'

export interface ListOptions {
  readonly order?: 'asc' | 'desc'
  readonly limit: number
  readonly cursor?: string | undefined
  /** Ask every shard, for an index whose rows live beside their entities. */
  readonly scatter?: boolean
}

export interface List<Item> {
  readonly items: readonly Item[]
  /** Leads to the next page; undefined at the end. */
  readonly cursor: string | undefined
  /** Leads to the page before; undefined on the first one. */
  readonly previous: string | undefined
}

/** The reads of one page: all of them go through here, so that the page can say what it cost. */
export interface Reader {
  readonly cost: PageCost
  get(id: string): Promise<Entity | undefined>
  /** One read for each shard that the ids live on. An id asked for again on the same page is not read again. */
  getMany(ids: readonly string[]): Promise<(Entity | undefined)[]>
  list<P extends IndexProperties, Item>(
    index: IndexDefinition<P>,
    where: Where<P>,
    make: (entity: Entity) => Item | undefined,
    options: ListOptions,
  ): Promise<List<Item>>
  count<P extends IndexProperties>(index: IndexDefinition<P>, where: Where<P>): Promise<number>
}

export function createReader(store: DataStore, sent: () => Sent): Reader {
  const cost = emptyCost(sent)
  const seen = new Map<string, Entity | undefined>()

  async function getMany(ids: readonly string[]): Promise<(Entity | undefined)[]> {
    const wanted = [...new Set(ids)].filter((id) => !seen.has(id))
    if (wanted.length > 0) {
      cost.questions++
      const entities = await store.getMany(wanted)
      wanted.forEach((id, i) => seen.set(id, entities[i]))
      cost.entities += entities.filter((entity) => entity !== undefined).length
    }
    return ids.map((id) => seen.get(id))
  }

  return {
    cost,
    getMany,
    async get(id) {
      return (await getMany([id]))[0]
    },
    async list(index, where, make, options) {
      cost.questions++
      const page = await store.query(index, where, {
        order: options.order ?? 'desc',
        limit: options.limit,
        ...(options.cursor === undefined ? {} : { cursor: options.cursor }),
        ...(options.scatter ? { scatter: true } : {}),
      })
      addQueryCost(cost, page.cost)
      const items = page.items.map(make).filter((item) => item !== undefined)
      return { items, cursor: page.cursor, previous: page.previous }
    },
    count(index, where) {
      cost.questions++
      return store.count(index, where)
    },
  }
}
