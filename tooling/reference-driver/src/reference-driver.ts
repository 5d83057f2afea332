import type { Driver, IndexTableSpec, Shard } from '@looseleaf/core'
import { createReferenceCatalog } from './reference-catalog.ts'
import { createReferenceEntities, type ReferenceEntities } from './reference-entities.ts'
import { createReferenceIndex, type ReferenceIndex } from './reference-index.ts'
import { createReferencePending } from './reference-pending.ts'
import { createReferenceTasks } from './reference-tasks.ts'

export interface ReferenceDriverOptions {
  readonly shards: number
  /** Microseconds since 1970, as the databases have it. Default: the machine's time. */
  readonly now?: () => number
}

/** A shard in plain memory, whose tables can be looked into. */
export interface ReferenceShard extends Shard {
  /** The shard's epoch at this moment; undefined before it has a catalog. */
  epoch(): number | undefined
  readonly entities: ReferenceEntities
  index(spec: IndexTableSpec): ReferenceIndex
}

export interface ReferenceDriver extends Driver {
  readonly shards: readonly ReferenceShard[]
}

/**
 * The ports in the plainest form that keeps to them: maps and sorted arrays, every call atomic and answered in a later
 * microtask. It says what a driver has to do, and lets tests look at what is stored. Nothing outlives it.
 */
export function createReferenceDriver(options: ReferenceDriverOptions): ReferenceDriver {
  const now = options.now ?? ((): number => Date.now() * 1000)
  const shards = Array.from({ length: options.shards }, (_, number) => createReferenceShard(number, now))
  return { shards, close: async () => {} }
}

function createReferenceShard(number: number, now: () => number): ReferenceShard {
  const catalog = createReferenceCatalog()
  const pending = createReferencePending()
  const indexes = new Map<string, ReferenceIndex>()
  const name = `reference shard ${number}`

  function index(spec: IndexTableSpec): ReferenceIndex {
    let table = indexes.get(spec.table)
    if (table === undefined) {
      table = createReferenceIndex(name, spec)
      indexes.set(spec.table, table)
    }
    return table
  }

  return {
    name,
    epoch: catalog.epoch,
    entities: createReferenceEntities(name, now, catalog.epoch, pending.add),
    catalog: catalog.table,
    tasks: createReferenceTasks(now),
    pending: pending.table,
    index,
    createTables: async () => {},
    createIndexTable: async (spec) => index(spec).create(),
    dropIndexTable: async (spec) => index(spec).drop(),
    schema: (specs) => ['entities', ...specs.map((spec) => spec.table)],
    now: async () => now(),
    warnings: async () => [],
  }
}
