import type { EntityRow } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { keepOpen } from '@looseleaf/testkit'
import { changed, type Changes } from '@looseleaf-tooling/kit/changed-driver'
import type { Backend } from './backend.ts'

/** Possible mistakes of a database or a driver. The model must notice each one. */
export const flaws: Readonly<Record<string, Changes>> = {
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
  'scans of one call get each other’s rows': {
    index: (table) => ({
      scanMany: async (scans, options) => (await table.scanMany(scans, options)).toReversed(),
    }),
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
  return {
    name,
    async create(shards) {
      const driver = await memoryShards(shards).connect()
      return { shards: keepOpen(changed(driver, flaws[name]!)), drop: () => driver.close() }
    },
  }
}
