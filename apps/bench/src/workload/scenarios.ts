import pLimit from 'p-limit'
import type { Side } from '../sides/side.ts'
import { HOT, type DataSet } from './data-set.ts'
import { tag, TAGS } from './entry.ts'
import type { Ref } from './ids.ts'
import type { LayoutName } from './indexes.ts'

/** Entries of a page, and of one `getMany`. */
export const PAGE = 20
/** Pages of a range, one after another. */
const PAGES = 5
/** Users of one `queryMany`, and entries of each. */
const USERS_AT_ONCE = 10
const EACH = 5

export interface Scenario {
  /** For the legend. */
  readonly what: string
  /** Its data set. */
  readonly layout: LayoutName
  /** Before the clock runs: makes what so many calls use up. Its answer goes to the calls. */
  prepare?(side: Side, data: DataSet, calls: number): Promise<Ref[]>
  /** It leaves rows behind that a side may delete later, and so needs a long run-in. */
  readonly isLate?: true
  /** One call, with its arguments chosen at random. Throws when the answer cannot be right. */
  call(side: Side, data: DataSet, prepared: Ref[]): Promise<unknown>
}

/** Fewer than lanes line up. */
const PREPARED_AT_ONCE = 2_000

const full = (items: readonly unknown[], count: number): void => {
  if (items.length !== count) throw new Error(`There are ${items.length} of ${count} entries.`)
}

const atLeastOne = (items: readonly unknown[]): void => {
  if (items.length === 0) throw new Error('There is no entry.')
}

const found = (entry: { readonly id: string } | undefined, { id }: Ref): void => {
  if (entry?.id !== id) throw new Error(`The entry ${id} was not found.`)
}

const like = (side: Side, ref: Ref, data: DataSet): Promise<void> => {
  const by = data.random.uuid()
  // Few are kept, so that bodies do not grow from round to round.
  return side.update(ref, (bag) => ({ ...bag, likes: [by] }))
}

const page = async (side: Side, user: string): Promise<void> =>
  full((await side.page?.(user, PAGE)) ?? [], PAGE)

const get = async (side: Side, ref: Ref): Promise<void> => found(await side.get(ref), ref)

/** Those that read come first within a data set: then all sides read the same, however many entries each has inserted. */
export const scenarios = {
  get: {
    what: 'one entry by its id, any of them',
    layout: 'entries',
    call: (side, data) => get(side, data.anyRef()),
  },
  getHot: {
    what: `one of ${HOT} entries by its id, so that each is asked for often`,
    layout: 'entries',
    call: (side, data) => get(side, data.hotRef()),
  },
  getCold: {
    what: 'entries in turn, so that none comes again before all others; the servers have all of them in memory',
    layout: 'entries',
    call: (side, data) => get(side, data.nextRef()),
  },
  getMany: {
    what: `${PAGE} entries by their ids`,
    layout: 'entries',
    async call(side, data) {
      const refs = Array.from({ length: PAGE }, () => data.anyRef())
      const entries = await side.getMany(refs)
      for (const [i, ref] of refs.entries()) found(entries[i], ref)
    },
  },
  page: {
    what: `a user's newest ${PAGE} entries`,
    layout: 'entries',
    call: (side, data) => page(side, data.anyUser()),
  },
  queryMany: {
    what: `the newest ${EACH} entries of each of ${USERS_AT_ONCE} users`,
    layout: 'entries',
    async call(side, data) {
      const users = Array.from({ length: USERS_AT_ONCE }, () => data.anyUser())
      full(((await side.pageOfEach?.(users, EACH)) ?? []).flat(), USERS_AT_ONCE * EACH)
    },
  },
  count: {
    what: `how many entries a user has`,
    layout: 'entries',
    async call(side, data) {
      if (((await side.count?.(data.anyUser())) ?? 0) < PAGE) throw new Error('There are too few entries.')
    },
  },
  insert: {
    what: 'a new entry: one entity and two index rows, committed before the answer',
    layout: 'entries',
    call: (side, data) => side.insert(data.newEntry()),
  },
  put: {
    what: 'an entry is replaced by one with another link, which an index has',
    layout: 'entries',
    isLate: true,
    call: (side, data) => side.put(...data.replacement(false)),
  },
  update: {
    what: 'an entry is read, gets a like, and is written back by compare-and-swap; no index changes',
    layout: 'entries',
    call: (side, data) => like(side, data.anyRef(), data),
  },
  delete: {
    what: 'an entry is deleted, with its index rows',
    layout: 'entries',
    prepare: (side, data, calls) =>
      pLimit(PREPARED_AT_ONCE).map(Array.from({ length: calls }), () => side.insert(data.newEntry())),
    async call(side, _, prepared) {
      const ref = prepared.pop()
      if (ref !== undefined) await side.delete(ref)
    },
  },
  mixed: {
    what: '90 % reads (gets and pages alike), 5 % updates, 4 % inserts, 1 % puts; few entries and users get most of it (Zipf)',
    layout: 'entries',
    isLate: true,
    async call(side, data) {
      const dice = data.random.below(100)
      if (dice < 45) return get(side, data.popularRef())
      // Entries that are being inserted have rows already: a side that does not read on has a shorter page.
      if (dice < 90) return atLeastOne((await side.page?.(data.popularUser(), PAGE)) ?? [])
      if (dice < 95) return like(side, data.popularRef(), data)
      if (dice < 99) return side.insert(data.newEntry())
      return side.put(...data.replacement(true))
    },
  },
  list: {
    what: `a user's newest ${PAGE} entries, as the rows of a covering index have them`,
    layout: 'site',
    call: async (side, data) => full((await side.list?.(data.anyUser(), PAGE)) ?? [], PAGE),
  },
  listUnverified: {
    what: 'the same, where Looseleaf holds no row against its entry (verify: false)',
    layout: 'site',
    async call(side, data) {
      const user = data.anyUser()
      full((await (side.listUnverified?.(user, PAGE) ?? side.list?.(user, PAGE))) ?? [], PAGE)
    },
  },
  range: {
    what: `a user's newest ${PAGE * PAGES} entries of a range, in ${PAGES} pages with a cursor`,
    layout: 'site',
    async call(side, data) {
      const entries = await side.pages?.(data.anyUser(), new Date(Date.UTC(2026, 0, 2)), PAGE, PAGES)
      full(entries ?? [], PAGE * PAGES)
    },
  },
  scatter: {
    what: `the newest ${PAGE} entries of all users, from all shards`,
    layout: 'site',
    call: async (side) => full((await side.newest?.(PAGE)) ?? [], PAGE),
  },
  tag: {
    what: `the newest ${PAGE} entries with a tag, by an index over an array`,
    layout: 'site',
    call: async (side, data) => atLeastOne((await side.tagged?.(tag(data.random.below(TAGS)), PAGE)) ?? []),
  },
  insertUnique: {
    what: 'a new entry with a handle that nobody else has, on whatever shard',
    layout: 'unique',
    call: (side, data) => side.insert(data.newEntry()),
  },
} as const satisfies Record<string, Scenario>

export type ScenarioName = keyof typeof scenarios
export const scenarioNames = Object.keys(scenarios) as ScenarioName[]
export const scenarioOf = (name: ScenarioName): Scenario => scenarios[name]
