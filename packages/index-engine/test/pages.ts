import type { Bag, Entity } from '@looseleaf/core'
import type { IndexDefinition } from '../src/definitions/define-index.ts'
import { planQuery, type QueryPlan } from '../src/pages/plan-query.ts'
import type { QueryOptions, QueryPage } from '../src/pages/query-types.ts'
import { runQuery, type RunOptions } from '../src/pages/run-query.ts'
import { idOf, lastBytePlacement, modelStore, type ModelStore } from './model.ts'

/** Creates a store with these entities, and with the rows of their old bags. */
export function fill(
  index: IndexDefinition,
  entities: readonly { readonly now: Bag | undefined; readonly old: readonly Bag[] }[],
  shards: number,
): ModelStore {
  const store = modelStore(index, lastBytePlacement(shards))
  for (const [number, { now, old }] of entities.entries()) {
    for (const bag of old) store.addRows(idOf(number), bag)
    if (now !== undefined) store.addRows(idOf(number), now)
    store.commit(idOf(number), now)
  }
  return store
}

export function plan(index: IndexDefinition, where: unknown, options: QueryOptions, shards = 1): QueryPlan {
  return planQuery(
    { ...index, generation: 1 },
    where,
    { scatter: true, ...options },
    lastBytePlacement(shards),
  )
}

/** Reads all pages. */
export const pagesOf = async (
  store: ModelStore,
  query: QueryPlan,
  options: RunOptions = {},
): Promise<QueryPage[]> => {
  const first = await runQuery(store, query, options)
  return [first, ...(await pagesFrom(store, query, first, 'cursor', options))]
}

/** Reads all pages after this one in one direction, nearest first. */
export async function pagesFrom(
  store: ModelStore,
  query: QueryPlan,
  page: QueryPage,
  way: 'cursor' | 'previous',
  options: RunOptions = {},
): Promise<QueryPage[]> {
  const pages: QueryPage[] = []
  for (let cursor = page[way]; cursor !== undefined; cursor = pages.at(-1)?.[way]) {
    if (pages.length > 2000) throw new Error('The pages do not end.')
    pages.push(await runQuery(store, query, { ...options, cursor }))
  }
  return pages
}

/** Returns the number of the entity's id, see `idOf`. */
export const numberOf = (entity: Entity): number => Number.parseInt(entity.id.slice(-8), 16)
export const numbersOf = (pages: readonly QueryPage[]): number[] =>
  pages.flatMap((page) => page.items.map(numberOf))
