import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  DataStore,
  envelopeCodec,
  mysqlShards,
  sqliteShards,
  type DataStoreOptions,
  type DriverFactory,
} from 'looseleaf'
import { byTag, byTime, byUser, indexesOf, listByUser, type LayoutName } from '../workload/indexes.ts'
import { createEntry } from '../workload/entry.ts'
import { userId } from '../workload/ids.ts'
import { scenarioNames, type ScenarioName } from '../workload/scenarios.ts'
import type { ServerKind, Side, SideDefinition } from './side.ts'
import type { PartName } from '../parts/part-names.ts'
import type { SideName } from './side-names.ts'

type StoreOptions = Omit<DataStoreOptions, 'shards' | 'indexes' | 'migrate'>

interface LooseleafSideOptions {
  readonly name: SideName
  readonly title: string
  readonly server?: ServerKind
  readonly isVariant?: boolean
  readonly onlyIn?: PartName
  readonly without?: readonly ScenarioName[]
  /** Anything that is not as it comes, made when it is opened. */
  readonly store?: () => StoreOptions | Promise<StoreOptions>
  /** What a new store is to have seen before it is measured. */
  readonly prime?: (store: DataStore) => Promise<void>
}

type Made = Pick<DataStoreOptions, 'migrate' | 'queryTimeMs'>

/**
 * Rows that a write made superfluous are deleted when the queries of this long have ended. It is five seconds by default, and less here
 * so that a turn's run-in may last as long: see `LATE_RUN_IN_SECONDS`. Nothing but the moment depends on it.
 */
const QUERY_TIME_MS = 250

/** A store as it comes: default router, default codec, default pool, unless it says otherwise. */
export function looseleafSide({
  name,
  title,
  server = 'mariadb',
  isVariant = false,
  onlyIn,
  without = [],
  store = () => ({}),
  prime = async () => {},
}: LooseleafSideOptions): SideDefinition {
  const open = async (databases: readonly string[], layout: LayoutName, made: Made): Promise<DataStore> =>
    DataStore.open({
      shards: shardsOf(server, databases),
      indexes: indexesOf(layout).map(({ definition }) => definition),
      ...made,
      ...(await store()),
    })
  return {
    name,
    title,
    server,
    isVariant,
    ...(onlyIn !== undefined && { onlyIn }),
    without,
    async create(databases, layout) {
      const made = await open(databases, layout, { migrate: true, queryTimeMs: QUERY_TIME_MS })
      await prime(made)
      await made.close()
    },
    open: async (databases, layout) => sideOf(await open(databases, layout, {})),
  }
}

export function shardsOf(server: ServerKind, databases: readonly string[]): DriverFactory {
  if (server === 'mariadb') return mysqlShards([...databases])
  // One folder for all: the store names its files itself.
  return sqliteShards({ folder: dirname(databases[0] as string), shards: databases.length })
}

export function sideOf(store: DataStore): Side {
  return {
    async fill(entries) {
      await store.putMany(entries.map(([{ id }, entry]) => ({ ...entry, id })))
    },
    insert: async (entry) => ({ id: (await store.insert(entry)).id, user: entry.user_id }),
    async put({ id }, entry) {
      await store.put(entry, { id })
    },
    async update({ id }, change) {
      await store.update(id, change)
    },
    async delete({ id }) {
      await store.delete(id)
    },
    get: ({ id }) => store.get(id),
    getMany: (refs) => store.getMany(refs.map(({ id }) => id)),
    async page(user, limit) {
      return (await store.query(byUser, { user_id: user }, { order: 'desc', limit })).items
    },
    async list(user, limit) {
      const { items } = await store.list(listByUser, { user_id: user }, { order: 'desc', limit })
      return items
    },
    async listUnverified(user, limit) {
      const options = { order: 'desc', limit, verify: false } as const
      return (await store.list(listByUser, { user_id: user }, options)).items
    },
    async pages(user, before, limit, pages) {
      const where = { user_id: user, published: { lt: before } }
      const found = []
      let cursor: string | undefined
      for (let page = 0; page < pages; page++) {
        const next = await store.query(byUser, where, { order: 'desc', limit, cursor })
        found.push(...next.items)
        cursor = next.cursor
        if (cursor === undefined) break
      }
      return found
    },
    async newest(limit) {
      return (await store.query(byTime, {}, { order: 'desc', limit, scatter: true })).items
    },
    async tagged(tag, limit) {
      return (await store.query(byTag, { tags: tag }, { order: 'desc', limit })).items
    },
    async pageOfEach(users, limit) {
      const wheres = users.map((user) => ({ user_id: user }))
      return (await store.queryMany(byUser, wheres, { order: 'desc', limit })).map(({ items }) => items)
    },
    // Rows, as the hand-written side counts them.
    count: (user) => store.count(byUser, { user_id: user }, { exact: false }),
    settled: () => store.settled(),
    async caughtUp() {
      while (store.stats().removals.underWay > 0) await sleep(1)
    },
    close: () => store.close(),
  }
}

const READING: readonly ScenarioName[] = [
  'get',
  'getHot',
  'getCold',
  'getMany',
  'page',
  'queryMany',
  'count',
  'list',
  'listUnverified',
  'range',
  'scatter',
  'tag',
]

export const looseleaf = looseleafSide({ name: 'looseleaf', title: 'Looseleaf' })
export const entityFirst = looseleafSide({
  name: 'entity-first',
  title: 'Looseleaf, entity first',
  isVariant: true,
  // It reads as the other order does. Rows that a write made superfluous are the cleaner's here, and no cleaner runs: work
  // that is never done is not to be measured as speed.
  without: [...READING, 'put', 'delete', 'mixed'],
  store: () => ({ writeOrder: 'entity-first' }),
})
/** For variants that these few calls are enough to tell apart. */
export const BUT_A_FEW = scenarioNames.filter(
  (name) => !['insert', 'update', 'get', 'getMany', 'page'].includes(name),
)
export const shapes = looseleafSide({
  name: 'shapes',
  title: 'Looseleaf + shapes',
  isVariant: true,
  without: BUT_A_FEW,
  store: () => ({ codec: envelopeCodec({ shapes: true }) }),
  prime: showEntries,
})
export const dictionary = looseleafSide({
  name: 'dictionary',
  title: 'Looseleaf + dictionary',
  isVariant: true,
  without: BUT_A_FEW,
  store: () => ({ codec: envelopeCodec({ shapes: true, dictionary: true }) }),
  prime: showEntries,
})
/** The same store, for the part in which somebody raises its floors, or follows it; `parts/changes.ts` does. */
export const raised = looseleafSide({
  name: 'raised',
  title: 'Looseleaf, floors raised',
  onlyIn: 'changes',
})
export const followed = looseleafSide({
  name: 'followed',
  title: 'Looseleaf, followed',
  onlyIn: 'changes',
})
export const sqliteLooseleaf = looseleafSide({
  name: 'sqlite-looseleaf',
  title: 'Looseleaf on SQLite',
  server: 'sqlite',
})

/**
 * A store in use has its shapes and its dictionary for long. A new one gets them from entries like those that follow, which are
 * gone afterwards.
 */
async function showEntries(store: DataStore): Promise<void> {
  const user = userId(0)
  const entries = Array.from({ length: 500 }, (_, i) => createEntry(i, user, { bag: undefined, extras: 0 }))
  const stored = await store.putMany(entries)
  await store.trainDictionary()
  for (const { id } of stored) await store.delete(id)
}
