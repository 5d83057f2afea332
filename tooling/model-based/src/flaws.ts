import type { Driver, EntityRow, EntityTable, IndexTable, Shard } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { keepOpen } from '@looseleaf/testkit'
import type { Backend } from './backend.ts'

interface Flaw {
  readonly entities?: (table: EntityTable) => Partial<EntityTable>
  readonly index?: (table: IndexTable) => Partial<IndexTable>
}

/** Ways in which a database or a driver could be wrong, one at a time. The model has to notice each. */
export const flaws: Readonly<Record<string, Flaw>> = {
  'index rows are not written': { index: () => ({ upsert: async () => {} }) },
  'one index row of a statement is not written': {
    index: (table) => ({ upsert: (rows, options) => table.upsert(rows.slice(1), options) }),
  },
  'index rows are not deleted': { index: () => ({ remove: async () => 0 }) },
  'a scan leaves out its last row': {
    index: (table) => ({ scan: async (scan, options) => (await table.scan(scan, options)).slice(0, -1) }),
  },
  'a scan leaves out the row behind its place': {
    index: (table) => ({
      scan: async (scan, options) =>
        (await table.scan(scan, options)).slice(scan.after === undefined ? 0 : 1),
    }),
  },
  'a scan takes an open bound for a closed one': {
    index: (table) => ({
      scan: (scan, options) =>
        table.scan({ ...scan, ...(scan.upper && { upper: { ...scan.upper, inclusive: false } }) }, options),
    }),
  },
  'a count is one too many': {
    index: (table) => ({ count: async (range, options) => (await table.count(range, options)) + 1 }),
  },
  'a replace says that it wrote and did not': {
    entities: () => ({ replace: async (rows) => rows.map(() => true) }),
  },
  'an insert says that it wrote and did not': { entities: () => ({ insert: async () => {} }) },
  'a read gives what was read first': {
    entities(table) {
      const first = new Map<string, EntityRow | undefined>()
      return {
        async read(ids, options) {
          const rows = await table.read(ids, options)
          return rows.map((row) => {
            if (row === undefined) return undefined
            const key = Buffer.from(row.id).toString('hex')
            if (!first.has(key)) first.set(key, row)
            return first.get(key)
          })
        },
      }
    },
  },
  'a page of entities leaves one out': {
    entities: (table) => ({
      pageByAdded: async (...all) => (await table.pageByAdded(...all)).slice(1),
    }),
  },
}

/** Memory shards with one of these flaws. */
export function flawedBackend(name: string): Backend {
  const { entities, index } = flaws[name]!
  const flawedShard = (shard: Shard): Shard => {
    const tables = new Map<string, IndexTable>()
    return {
      ...bound(shard),
      entities: { ...bound(shard.entities), ...entities?.(shard.entities) },
      index(spec) {
        const table = tables.get(spec.table) ?? { ...bound(shard.index(spec)), ...index?.(shard.index(spec)) }
        tables.set(spec.table, table)
        return table
      },
    }
  }
  return {
    name,
    async create(shards) {
      const driver: Driver = await memoryShards(shards).connect()
      return {
        shards: keepOpen({ shards: driver.shards.map(flawedShard), close: async () => {} }),
        drop: () => driver.close(),
      }
    },
  }
}

/** An object's own and inherited methods, so that a spread of it works. */
function bound<T extends object>(object: T): T {
  const copy: Record<string, unknown> = {}
  for (let level: object | null = object; level !== null && level !== Object.prototype;) {
    for (const name of Object.getOwnPropertyNames(level)) {
      const value: unknown = Reflect.get(object, name)
      copy[name] ??= typeof value === 'function' ? value.bind(object) : value
    }
    level = Object.getPrototypeOf(level) as object | null
  }
  return copy as T
}
