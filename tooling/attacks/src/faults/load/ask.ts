import type { Bag } from '@looseleaf/core'
import type { ReplicaReadOptions } from '@looseleaf/core/internal'
import type { DataStore } from '@looseleaf/store'
import { byGroup, byTag } from '@looseleaf-tooling/simulation/by-tag-and-group'
import { moment } from '../../lab/records.ts'
import type { Random } from '@looseleaf-tooling/kit/random'
import {
  byDay,
  byGroupAndTime,
  DAYS,
  GROUPS,
  isOfOneKey,
  RANGES,
  TAGS,
  TIMES,
  type QueryRequest,
} from '../indexes.ts'

export type FoundEntity = Bag & { readonly id: string }

export interface Answered {
  readonly found: readonly FoundEntity[]
  /** True if every page said that it is complete. */
  readonly complete: boolean
  /** Start of the first page that found something. */
  readonly start: number
  /** True if replicas answered any page. */
  readonly fromReplicas: boolean
}

interface PageOptions extends ReplicaReadOptions {
  readonly order: 'asc' | 'desc'
  readonly scatter: true
  readonly limit: number
  readonly cursor?: string
}

interface Page {
  readonly items: readonly object[]
  readonly cursor?: string | undefined
  readonly previous?: string | undefined
  readonly cost: { readonly complete: boolean; readonly asOf?: Date }
}

const PAGE = 7
const WHOLE = 1_000

export function chooseRequest(random: Random): QueryRequest {
  const chosen = random.next()
  if (chosen < 0.2) return { index: 'by_tag', tags: some(TAGS, random) }
  if (chosen < 0.4) return { index: 'by_group', groups: some(GROUPS, random) }
  // An entity that moves between these groups, and so between shards, matches all the time.
  if (chosen < 0.6) return { index: 'by_group', between: random.pick(RANGES) }
  if (chosen < 0.7)
    return { index: 'by_tag and by_group', tag: random.pick(TAGS), group: random.pick(GROUPS) }
  if (chosen < 0.85) return { index: 'by_group_and_time', group: random.pick(GROUPS), at: random.pick(TIMES) }
  const days = some(DAYS, random)
  return { index: 'by_day', days, ...(random.chance(0.7) && { groups: some([...GROUPS, null], random) }) }
}

/** Returns mostly one value, sometimes several. */
function some<T>(values: readonly T[], random: Random): readonly T[] {
  const chosen = random.chance(0.6) ? [] : values.filter(() => random.chance(0.5))
  return chosen.length === 0 ? [random.pick(values)] : chosen
}

/** Asks in one page, or in several if paging cannot miss a moved entity: forward, or forward and back. */
export async function ask(
  store: DataStore,
  request: QueryRequest,
  random: Random,
  where: () => ReplicaReadOptions,
): Promise<Answered> {
  const order = random.pick(['asc', 'desc'] as const)
  const inPages = isOfOneKey(request) && random.chance(0.4)
  const isBackward = inPages && random.chance(0.5)
  const query = pageOf(store, request, random)
  const turn = (cursor?: string): Promise<Page> =>
    query({
      ...where(),
      order,
      scatter: true,
      limit: inPages ? PAGE : WHOLE,
      ...(cursor !== undefined && { cursor }),
    })

  let start = moment()
  let page = await turn()
  let taken = [page]
  while (page.cursor !== undefined) {
    if (isBackward) [start, taken] = [moment(), []]
    page = await turn(page.cursor)
    taken.push(page)
  }
  while (isBackward && page.previous !== undefined) {
    page = await turn(page.previous)
    taken.unshift(page)
  }
  return {
    // Every indexed entity has the properties of this load.
    found: taken.flatMap(({ items }) => items as readonly FoundEntity[]),
    complete: taken.every(({ cost }) => cost.complete),
    fromReplicas: taken.some(({ cost }) => cost.asOf !== undefined),
    start,
  }
}

function pageOf(
  store: DataStore,
  request: QueryRequest,
  random: Random,
): (options: PageOptions) => Promise<Page> {
  switch (request.index) {
    case 'by_tag':
      return (options) => store.query(byTag, { tags: anyOf(request.tags) }, options)
    case 'by_group': {
      const group =
        'groups' in request ? anyOf(request.groups) : { gte: request.between[0], lte: request.between[1] }
      return (options) => store.query(byGroup, { group }, options)
    }
    case 'by_group_and_time': {
      const { group, at } = request
      const where = { group, at: new Date(at) }
      if (random.chance(0.5)) return (options) => store.list(byGroupAndTime, where, options)
      return (options) => store.query(byGroupAndTime, where, options)
    }
    case 'by_tag and by_group': {
      const conditions = [
        { index: byTag, where: { tags: request.tag } },
        { index: byGroup, where: { group: request.group } },
      ] as const
      return (options) => store.intersect(conditions, options)
    }
    case 'by_day': {
      // Any time of a day selects that day.
      const day = anyOf(request.days.map((date) => new Date(`${date}T12:34:56.789Z`)))
      const where = request.groups === undefined ? { day } : { day, group: anyOf(request.groups) }
      return (options) => store.query(byDay, where, options)
    }
  }
}

function anyOf<T>(values: readonly T[]): T | { readonly in: readonly T[] } {
  const [first] = values
  return values.length === 1 ? (first as T) : { in: values }
}
