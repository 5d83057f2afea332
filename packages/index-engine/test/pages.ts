import type { Bag, Entity } from '@looseleaf/core'
import * as fc from 'fast-check'
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

/** A change of an entity's rank by this much, and the calls at which its new row is written, it is committed, and its old row deleted. */
export interface RankMove {
  readonly from: number
  readonly by: number
  readonly calls: readonly number[]
}

/** Moves of entities during this many calls, each entity by its place in the list. */
export function rankMoves(calls: number): fc.Arbitrary<RankMove[]> {
  const move = fc.record({
    from: fc.nat(40),
    by: fc.integer({ min: 1, max: 40 }),
    calls: fc
      .array(fc.nat(calls), { minLength: 3, maxLength: 3 })
      .map((all) => all.toSorted((a, b) => a - b)),
  })
  return fc.array(move, { minLength: 1, maxLength: 12 })
}

/** Makes the moves while the store is read, to higher ranks or to lower ones. */
export function moveDuringCalls(store: ModelStore, moves: readonly RankMove[], way: 1 | -1): void {
  let call = 0
  store.onCall = () => {
    for (const [number, { from, by, calls }] of moves.entries()) {
      const [write, commit, remove] = calls
      const moved = { rank: from + way * by }
      if (write === call) store.addRows(idOf(number), moved)
      if (commit === call) store.commit(idOf(number), moved)
      if (remove === call) store.removeRows(idOf(number), { rank: from })
    }
    call++
  }
}
