import type { Side } from '../sides/side.ts'
import type { DataSet } from './data-set.ts'
import { createEntry } from './entry.ts'

/** Entities of one `getMany` and of one page of the query. */
export const PAGE = 20

export interface Scenario {
  readonly name: ScenarioName
  /** For the table's legend. */
  readonly what: string
  /** One call, with its arguments chosen at random. Throws when the answer cannot be right. */
  call(side: Side, data: DataSet): Promise<void>
}

export const scenarioNames = ['put', 'update', 'get', 'getMany', 'query'] as const
export type ScenarioName = (typeof scenarioNames)[number]

export const scenarios: Readonly<Record<ScenarioName, Scenario>> = {
  put: {
    name: 'put',
    what: 'a new entry: one entity and two index rows, each flushed to disk before the answer',
    async call(side, { random, userIds }) {
      await side.put(createEntry(random, random.pick(userIds)))
    },
  },
  update: {
    name: 'update',
    what: 'an entry is read, gets one more like, and is written back by compare-and-swap; no index changes',
    async call(side, { random, entryIds }) {
      const like = random.uuid()
      // Few are kept, so that bodies do not grow from round to round.
      await side.update(random.pick(entryIds), (bag) => ({ ...bag, likes: [like] }))
    },
  },
  get: {
    name: 'get',
    what: 'one entry by its id',
    async call(side, { random, entryIds }) {
      const id = random.pick(entryIds)
      const entry = await side.get(id)
      if (entry?.id !== id) throw new Error(`${side.name}: get did not find an entry that is there.`)
    },
  },
  getMany: {
    name: 'getMany',
    what: `${PAGE} entries by their ids`,
    async call(side, { random, entryIds }) {
      const ids = Array.from({ length: PAGE }, () => random.pick(entryIds))
      const entries = await side.getMany(ids)
      if (ids.some((id, i) => entries[i]?.id !== id)) {
        throw new Error(`${side.name}: getMany did not find entries that are there.`)
      }
    },
  },
  query: {
    name: 'query',
    what: `a user's newest ${PAGE} entries: index rows from the user's shard, then entities from all`,
    async call(side, { random, userIds }) {
      const entries = await side.queryByUser(random.pick(userIds), PAGE)
      if (entries.length !== PAGE)
        throw new Error(`${side.name}: a page has ${entries.length} of ${PAGE} entries.`)
    },
  },
}
