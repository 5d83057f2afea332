import pLimit from 'p-limit'
import type { Side } from '../sides/side.ts'
import { HOT, type DataSet } from './data-set.ts'
import { stripe, STRIPES, tag, TAGS } from './entry.ts'
import type { Ref } from './ids.ts'
import type { LayoutName } from './indexes.ts'

/** Entries per page and per `getMany`. */
export const PAGE = 20
/** Pages per call of `range`. */
const PAGES = 5
/** Jobs of a call of `queue`. */
const JOBS = 20
/** Users per call of `queryMany`. */
const USERS_AT_ONCE = 10
/** Entries per user in `queryMany`. */
const EACH = 5

export interface Scenario {
  /** Caption in the report. */
  readonly description: string
  /** Index set of the data that the scenario needs. */
  readonly layout: LayoutName
  /** Creates the entries that this many calls use up, before the clock runs. The calls get the result. */
  prepare?(side: Side, data: DataSet, calls: number): Promise<Ref[]>
  /** True if calls leave rows that a side may delete later, so that turns need a long run-in. */
  readonly isLate?: true
  /** Makes one call with random arguments. Throws if the answer cannot be right. */
  call(side: Side, data: DataSet, prepared: Ref[]): Promise<unknown>
}

/** Concurrent inserts of a preparation: fewer than the capacity of a stripe's queue. */
const PREPARED_AT_ONCE = 2_000

const full = (items: readonly unknown[], count: number): void => {
  if (items.length !== count) throw new Error(`The answer has ${items.length} of ${count} entries.`)
}

const atLeastOne = (items: readonly unknown[]): void => {
  if (items.length === 0) throw new Error('The answer has no entries.')
}

const found = (entry: { readonly id: string } | undefined, { id }: Ref): void => {
  if (entry?.id !== id) throw new Error(`The entry ${id} was not found.`)
}

const like = (side: Side, ref: Ref, data: DataSet): Promise<void> => {
  const by = data.random.uuid()
  // The new like replaces the others, so that bodies do not grow from round to round.
  return side.update(ref, (bag) => ({ ...bag, likes: [by] }))
}

const page = async (side: Side, user: string): Promise<void> =>
  full((await side.page?.(user, PAGE)) ?? [], PAGE)

const get = async (side: Side, ref: Ref): Promise<void> => found(await side.get(ref), ref)

const takeAndFinish = (side: Side, from: string, limit: number): Promise<number> =>
  side.takeAndFinish?.(from, limit) ?? Promise.reject(new Error('The side has no queue.'))

async function takeJobs(side: Side, data: DataSet): Promise<void> {
  let finished = 0
  // Other callers may have taken some of the jobs that a caller wants.
  while (finished < JOBS)
    finished += await takeAndFinish(side, stripe(data.random.below(STRIPES)), JOBS - finished)
}

/** All scenarios. Within a layout, reads come first, so that all sides read the same data before any side inserts. */
export const scenarios = {
  get: {
    description: 'one entry by its id, any of them',
    layout: 'entries',
    call: (side, data) => get(side, data.anyRef()),
  },
  getHot: {
    description: `one of ${HOT} entries by its id, so that each is read often`,
    layout: 'entries',
    call: (side, data) => get(side, data.hotRef()),
  },
  getCold: {
    description: 'each entry in turn, none twice before all others; the servers have all of them in memory',
    layout: 'entries',
    call: (side, data) => get(side, data.nextRef()),
  },
  getMany: {
    description: `${PAGE} entries by their ids`,
    layout: 'entries',
    async call(side, data) {
      const refs = Array.from({ length: PAGE }, () => data.anyRef())
      const entries = await side.getMany(refs)
      for (const [i, ref] of refs.entries()) found(entries[i], ref)
    },
  },
  page: {
    description: `a user's newest ${PAGE} entries`,
    layout: 'entries',
    call: (side, data) => page(side, data.anyUser()),
  },
  queryMany: {
    description: `the newest ${EACH} entries of each of ${USERS_AT_ONCE} users`,
    layout: 'entries',
    async call(side, data) {
      const users = Array.from({ length: USERS_AT_ONCE }, () => data.anyUser())
      full(((await side.pageOfEach?.(users, EACH)) ?? []).flat(), USERS_AT_ONCE * EACH)
    },
  },
  count: {
    description: `how many entries a user has`,
    layout: 'entries',
    async call(side, data) {
      if (((await side.count?.(data.anyUser())) ?? 0) < PAGE) throw new Error('The count is too low.')
    },
  },
  insert: {
    description: 'a new entry: one entity and two index rows, committed before the answer',
    layout: 'entries',
    call: (side, data) => side.insert(data.newEntry()),
  },
  put: {
    description: 'an entry is replaced by one with another link, which is indexed',
    layout: 'entries',
    isLate: true,
    call: (side, data) => side.put(...data.replacement(false)),
  },
  update: {
    description: 'an entry is read, gets a like, and is written back by compare-and-swap; no index changes',
    layout: 'entries',
    call: (side, data) => like(side, data.anyRef(), data),
  },
  delete: {
    description: 'an entry is deleted, with its index rows',
    layout: 'entries',
    prepare: (side, data, calls) =>
      pLimit(PREPARED_AT_ONCE).map(Array.from({ length: calls }), () => side.insert(data.newEntry())),
    async call(side, _, prepared) {
      const ref = prepared.pop()
      if (ref !== undefined) await side.delete(ref)
    },
  },
  mixed: {
    description:
      '90 % reads (gets and pages alike), 5 % updates, 4 % inserts, 1 % puts; few entries and users get most calls (Zipf)',
    layout: 'entries',
    isLate: true,
    async call(side, data) {
      const dice = data.random.below(100)
      if (dice < 45) return get(side, data.popularRef())
      // Rows of an entry that is being inserted exist before it. A side that reads no further rows instead returns a shorter page.
      if (dice < 90) return atLeastOne((await side.page?.(data.popularUser(), PAGE)) ?? [])
      if (dice < 95) return like(side, data.popularRef(), data)
      if (dice < 99) return side.insert(data.newEntry())
      return side.put(...data.replacement(true))
    },
  },
  list: {
    description: `a user's newest ${PAGE} entries, as the rows of a covering index have them`,
    layout: 'site',
    call: async (side, data) => full((await side.list?.(data.anyUser(), PAGE)) ?? [], PAGE),
  },
  listUnverified: {
    description: 'the same, where Looseleaf compares no row with its entry (verify: false)',
    layout: 'site',
    async call(side, data) {
      const user = data.anyUser()
      full((await (side.listUnverified?.(user, PAGE) ?? side.list?.(user, PAGE))) ?? [], PAGE)
    },
  },
  range: {
    description: `a user's newest ${PAGE * PAGES} entries of a range, in ${PAGES} pages with a cursor`,
    layout: 'site',
    async call(side, data) {
      const entries = await side.pages?.(data.anyUser(), new Date(Date.UTC(2026, 0, 2)), PAGE, PAGES)
      full(entries ?? [], PAGE * PAGES)
    },
  },
  scatter: {
    description: `the newest ${PAGE} entries of all users, from all shards`,
    layout: 'site',
    call: async (side) => full((await side.newest?.(PAGE)) ?? [], PAGE),
  },
  tag: {
    description: `the newest ${PAGE} entries with a tag, by an index over an array`,
    layout: 'site',
    call: async (side, data) => atLeastOne((await side.tagged?.(tag(data.random.below(TAGS)), PAGE)) ?? []),
  },
  insertUnique: {
    description: 'a new entry with a handle that is unique across shards',
    layout: 'unique',
    call: (side, data) => side.insert(data.newEntry()),
  },
  nearPage: {
    description: `a user's newest ${PAGE} entries, which are near their user: rows and entities are on one shard`,
    layout: 'near',
    call: (side, data) => page(side, data.anyUser()),
  },
  nearInsert: {
    description: 'a new entry near its user: one entity and one index row on the same shard',
    layout: 'near',
    call: (side, data) => side.insert(data.newEntry()),
  },
  nearList: {
    description: `a user's newest ${PAGE} entries from the rows of a covering index, near their user, compared with their entries`,
    layout: 'nearList',
    call: async (side, data) => full((await side.list?.(data.anyUser(), PAGE)) ?? [], PAGE),
  },
  queue: {
    description: `${JOBS} due jobs are taken under a lease, from one or more of ${STRIPES} stripes; each is finished by a write of its own and is due again`,
    layout: 'queue',
    isLate: true,
    call: takeJobs,
  },
  wholeQueue: {
    description: 'the same, but by hand jobs have no stripes: a caller takes the first due jobs of a server',
    layout: 'wholeQueue',
    isLate: true,
    call: takeJobs,
  },
} as const satisfies Record<string, Scenario>

export type ScenarioName = keyof typeof scenarios
export const scenarioNames = Object.keys(scenarios) as ScenarioName[]
/** Scenarios of entities near their user or stripe. */
export const nearScenarios: readonly ScenarioName[] = [
  'nearPage',
  'nearInsert',
  'nearList',
  'queue',
  'wholeQueue',
]
export const scenarioOf = (name: ScenarioName): Scenario => scenarios[name]
