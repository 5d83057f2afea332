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
import { queueByStore } from './queue-by-store.ts'
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
  /** Options that differ from the defaults. Called each time a store is opened. */
  readonly store?: () => StoreOptions | Promise<StoreOptions>
  /** Prepares a new store before the data set is written. */
  readonly prime?: (store: DataStore) => Promise<void>
}

type CreateOptions = Pick<DataStoreOptions, 'migrate' | 'queryTimeMs'>

/**
 * `queryTimeMs` of the measured stores; the default is 5,000. A store deletes lost index rows 1.1 times this after the write, and a turn's
 * run-in has to be longer (see `LATE_RUN_IN_SECONDS`). A small value keeps turns short and only moves the time of the deletes.
 */
const QUERY_TIME_MS = 250

/** Defines a side that is a store with default options, unless `store` changes some. */
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
  const open = async (
    databases: readonly string[],
    layout: LayoutName,
    creation: CreateOptions,
  ): Promise<DataStore> =>
    DataStore.open({
      shards: shardsOf(server, databases),
      indexes: indexesOf(layout).map(({ definition }) => definition),
      ...creation,
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
      const created = await open(databases, layout, { migrate: true, queryTimeMs: QUERY_TIME_MS })
      await prime(created)
      await created.close()
    },
    open: async (databases, layout) => sideOf(await open(databases, layout, {}), layout),
  }
}

export function shardsOf(server: ServerKind, databases: readonly string[]): DriverFactory {
  if (server === 'mariadb') return mysqlShards([...databases])
  // All files are in one folder, under the names that the store gives them.
  return sqliteShards({ folder: dirname(databases[0] as string), shards: databases.length })
}

export function sideOf(store: DataStore, layout: LayoutName): Side {
  const isNear = layout === 'near' || layout === 'nearList'
  return {
    async fill(entries) {
      await store.putMany(entries.map(([{ id }, entry]) => ({ ...entry, id })))
    },
    async insert(entry) {
      const { id } = await store.insert(entry, isNear ? { near: entry.user_id } : {})
      return { id, user: entry.user_id }
    },
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
    // Not exact, because the hand-written side counts index rows without looking at entities.
    count: (user) => store.count(byUser, { user_id: user }, { exact: false }),
    ...queueByStore(store),
    settled: () => store.settled(),
    async caughtUp() {
      while (store.stats().removals.inFlight > 0) await sleep(1)
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
  'nearPage',
  'nearList',
]

export const looseleaf = looseleafSide({ name: 'looseleaf', title: 'Looseleaf' })
export const entityFirst = looseleafSide({
  name: 'entity-first',
  title: 'Looseleaf, entity first',
  isVariant: true,
  // Reads are the same with either write order. Writes that lose index rows leave these to the cleaner with this order, and no cleaner
  // runs here: such scenarios would count work that is never done as speed.
  without: [...READING, 'put', 'delete', 'mixed', 'queue', 'wholeQueue'],
  store: () => ({ writeOrder: 'entity-first' }),
})
/** All scenarios but five, which are enough to show the difference of a variant. */
export const ALL_BUT_FIVE = scenarioNames.filter(
  (name) => !['insert', 'update', 'get', 'getMany', 'page'].includes(name),
)
export const shapes = looseleafSide({
  name: 'shapes',
  title: 'Looseleaf + shapes',
  isVariant: true,
  without: ALL_BUT_FIVE,
  store: () => ({ codec: envelopeCodec({ shapes: true }) }),
  prime: trainCodec,
})
export const dictionary = looseleafSide({
  name: 'dictionary',
  title: 'Looseleaf + dictionary',
  isVariant: true,
  without: ALL_BUT_FIVE,
  store: () => ({ codec: envelopeCodec({ shapes: true, dictionary: true }) }),
  prime: trainCodec,
})
/** Store whose floors `parts/changes.ts` raises. */
export const raised = looseleafSide({
  name: 'raised',
  title: 'Looseleaf, floors raised',
  onlyIn: 'changes',
})
/** Store whose changes `parts/changes.ts` follows. */
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
 * Lets a new store learn shapes and a dictionary from sample entries, and deletes these again. A store in use has learned them long
 * before.
 */
async function trainCodec(store: DataStore): Promise<void> {
  const user = userId(0)
  const entries = Array.from({ length: 500 }, (_, i) => createEntry(i, user, { bag: undefined, extras: 0 }))
  const stored = await store.putMany(entries)
  await store.trainDictionary()
  for (const { id } of stored) await store.delete(id)
}
