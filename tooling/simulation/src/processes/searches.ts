import { metaOf, type Bag, type EntityId } from '@looseleaf/core'
import type { IndexDefinition, IndexProperties, QueryPage, Where } from '@looseleaf/index-engine'
import { byGroup, byTag } from '@looseleaf-tooling/simulation/by-tag-and-group'
import type { Random } from '@looseleaf-tooling/kit/random'
import type { Act, ClientOptions } from './client.ts'
import type { SearchRequest } from '../history/evidence.ts'
import {
  byGroupAndRank,
  byGroupAndRankElsewhere,
  byNearRank,
  byPair,
  byRank,
  GROUPS,
  isOf,
  pairOf,
  RANKS,
  TAGS,
} from '../shapes/indexes.ts'

/** Conditions of a search, with the store's arguments. */
export interface Question extends SearchRequest {
  readonly index: IndexDefinition
  readonly where: Where<IndexProperties>
}

function question<const P extends IndexProperties>(
  index: IndexDefinition<P>,
  where: Where<P>,
  matches: (bag: Bag) => boolean,
): Question {
  // The `where` of a question fits its own index.
  return {
    index: index as unknown as IndexDefinition,
    where: where as unknown as Where<IndexProperties>,
    what: `${index.name} ${JSON.stringify(where)}`,
    matches: (bag) => isOf(index.on, bag) && matches(bag),
  }
}

export function anyQuestion(random: Random): Question {
  const group = random.pick(GROUPS)
  const rank = random.pick(RANKS)
  switch (random.below(10)) {
    case 0:
    case 1: {
      const groups = some(GROUPS, random)
      return question(byGroup, { group: anyOf(groups) }, (bag) => groups.includes(bag['group'] as never))
    }
    case 2:
    case 3: {
      const tags = some(TAGS, random)
      const has = (bag: Bag, tag: string): boolean => (bag['tags'] as readonly string[]).includes(tag)
      return question(byTag, { tags: anyOf(tags) }, (bag) => tags.some((tag) => has(bag, tag)))
    }
    case 4:
      return anyQuestionForMoved(random)
    case 5:
      return question(
        byGroupAndRank,
        { group, rank },
        (bag) => bag['group'] === group && bag['rank'] === rank,
      )
    case 6:
    case 7:
      return questionForPairs(random)
    default: {
      const index = random.pick([byGroupAndRank, byGroupAndRankElsewhere])
      const range = random.pick([{ gte: rank }, { lt: rank + 1 }])
      const isWithin = (value: number): boolean => ('gte' in range ? value >= rank : value <= rank)
      return question(
        index as typeof byGroupAndRank,
        { group, rank: range },
        (bag) => bag['group'] === group && isWithin(Number(bag['rank'])),
      )
    }
  }
}

/** A search in the index with a derived key, in which entities without a group have a row too. */
function questionForPairs(random: Random): Question {
  const ranks = some(RANKS, random)
  const isOne = (bag: Bag): boolean => ranks.some((rank) => pairOf(rank) === pairOf(Number(bag['rank'])))
  if (random.chance(0.3)) return question(byPair, { pair: anyOf(ranks) }, isOne)
  const groups = some([...GROUPS, null], random)
  return question(
    byPair,
    { pair: anyOf(ranks), group: anyOf(groups) },
    (bag) => isOne(bag) && groups.includes(bag['group'] as never),
  )
}

/** Returns mostly one value, sometimes several. */
function some<T>(values: readonly T[], random: Random): readonly T[] {
  const chosen = random.chance(0.6) ? [] : values.filter(() => random.chance(0.5))
  return chosen.length === 0 ? [random.pick(values)] : chosen
}

function anyOf<T>(values: readonly T[]): T | { readonly in: readonly T[] } {
  const [first] = values
  return values.length === 1 ? (first as T) : { in: values }
}

/** A search in the index whose rows move between shards. */
export function anyQuestionForMoved(random: Random): Question {
  return random.chance(0.7)
    ? question(byRank, { rank: { gte: RANKS[0] } }, () => true)
    : question(byRank, { rank: { gte: RANKS[1], lte: RANKS[2] } }, (bag) =>
        [RANKS[1], RANKS[2]].some((rank) => rank === bag['rank']),
      )
}

/** A search in the index whose rows move on the shard of their entities. */
const anyQuestionForNear = (): Question => question(byNearRank, { rank: { gte: RANKS[0] } }, () => true)

/** Page sizes: mostly the whole result, in one read of each shard or in several. */
const LIMITS = [1, 2, 3, 4, 100, 100]

const order = (random: Random): 'asc' | 'desc' => random.pick(['asc', 'desc'])

const get: Act = async ({ store, random, ids, history, cacheMs }, operation) => {
  const id = random.pick(ids)
  const isCached = cacheMs > 0 && random.chance(0.8)
  const entity = await store.get(id, { fresh: !isCached })
  const version = entity && metaOf(entity)?.version
  if (isCached) history.readCache(operation, id, version, entity, { ms: cacheMs })
  else history.read(operation, id, version, entity)
}

const getMany: Act = async ({ store, ids, history, cacheMs }, operation) => {
  const entities = await store.getMany(ids)
  for (const [i, entity] of entities.entries())
    history.readCache(operation, ids[i] as EntityId, entity && metaOf(entity)?.version, entity, {
      ms: cacheMs,
    })
}

const queryFor =
  (ask: (random: Random) => Question): Act =>
  async ({ store, random, history }, operation) => {
    const request = ask(random)
    const options = { limit: random.pick(LIMITS), scatter: true, order: order(random) }
    history.queried(operation, request, await store.query(request.index, request.where, options))
  }

const allFor =
  (ask: (random: Random) => Question): Act =>
  async ({ store, random, history }, operation) => {
    const request = ask(random)
    const options = { scatter: true, order: order(random) }
    history.gotAll(operation, request, await store.getAll(request.index, request.where, options))
  }

/** Reads all pages in order, or back from the last one. */
const pages: Act = async ({ store, random, history }, operation) => {
  const request = anyQuestion(random)
  const options = { limit: 1 + random.below(2), scatter: true, order: order(random) }
  const isBackward = random.chance(0.4)
  const items: Bag[] = []
  let isComplete = true
  const turn = async (cursor: string | undefined): Promise<QueryPage> => {
    const page = await store.query(request.index, request.where, { ...options, ...(cursor && { cursor }) })
    isComplete &&= page.cost.complete
    return page
  }
  let page = await turn(undefined)
  for (; page.cursor !== undefined; page = await turn(page.cursor)) if (!isBackward) items.push(...page.items)
  items.push(...page.items)
  while (isBackward && page.previous !== undefined) {
    page = await turn(page.previous)
    items.push(...page.items)
  }
  history.paged(operation, request, items, isComplete)
}

const countFor =
  (ask: (random: Random) => Question): Act =>
  async ({ store, random, history }, operation) => {
    const request = ask(random)
    const exact = random.chance(0.5)
    history.counted(
      operation,
      request,
      await store.count(request.index, request.where, { exact, scatter: true }),
      exact,
    )
  }

const scan: Act = async ({ store, history }: ClientOptions, operation) => {
  const items: Bag[] = []
  for await (const entity of store.scan()) items.push(entity)
  const everything: SearchRequest = { what: 'a scan', matches: () => true }
  history.scanned(operation, everything, items)
}

const query = queryFor(anyQuestion)
const all = allFor(anyQuestion)
const count = countFor(anyQuestion)
const queryForNear = queryFor(anyQuestionForNear)
const queryForMoved = queryFor(anyQuestionForMoved)
const allForMoved = allFor(anyQuestionForMoved)

/** Reads for lives with a shared cache. */
export const cachedReads: readonly Act[] = [get, get, getMany]
/** Searches for lives whose entities are near each other. */
export const nearSearches: readonly Act[] = [
  queryForNear,
  queryForNear,
  allFor(anyQuestionForNear),
  countFor(anyQuestionForNear),
]
/** Reads for lives with moves. */
export const plainReads: readonly Act[] = [get]
export const searches: readonly Act[] = [get, get, query, query, query, all, pages, count, scan]
export const searchesForMoved: readonly Act[] = [
  queryForMoved,
  queryForMoved,
  queryForMoved,
  allForMoved,
  get,
]
