import {
  throwIfAborted,
  type Driver,
  type IndexRow,
  type IndexTableSpec,
  type PendingRow,
  type PurgeBounds,
  type Shard,
  type ShardCatalog,
} from '@looseleaf/core'
import { createReferenceCatalog } from './reference-catalog.ts'
import { createReferenceDefinitions, type ReferenceDefinitions } from './reference-definitions.ts'
import { createReferenceEntities, type ReferenceEntities, type ReferenceRow } from './reference-entities.ts'
import { createReferenceIndex, type ReferenceIndex } from './reference-index.ts'
import { createReferencePending, type ReferencePending } from './reference-pending.ts'
import { createReferenceTasks, type ReferenceTasks } from './reference-tasks.ts'

export interface ReferenceDriverOptions {
  readonly shards: number
  /** Microseconds since 1970, as the database of a shard has it. Default: the machine's time. */
  readonly now?: (shard: number) => number
}

/** What a shard holds at a moment. */
export interface ShardState {
  readonly entities: readonly ReferenceRow[]
  /** Pending rows are committed with their entities, so they stand and fall with them. */
  readonly pending: readonly PendingRow[]
  readonly floor: number
  readonly purged: PurgeBounds
  readonly tasks: ReturnType<ReferenceTasks['snapshot']>
  readonly catalog: ShardCatalog | undefined
  /** By table; without those that there are none of. */
  readonly indexes: ReadonlyMap<string, readonly IndexRow[] | undefined>
}

/** A shard in plain memory, whose tables can be looked into. */
export interface ReferenceShard extends Shard {
  /** The shard's catalog at this moment; undefined before it has one. */
  contents(): ShardCatalog | undefined
  readonly entities: ReferenceEntities
  readonly pending: ReferencePending
  readonly definitions: ReferenceDefinitions
  index(spec: IndexTableSpec): ReferenceIndex
  state(): ShardState
  /** Falls back to a state: that of the entities alone, with what is pending for them, or that of everything. */
  fallBack(state: ShardState, what: 'entities' | 'everything'): void
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
  const shards = Array.from({ length: options.shards }, (_, number) =>
    createReferenceShard(`reference shard ${number}`, () => now(number)),
  )
  return { shards, close: async () => {} }
}

export function createReferenceShard(name: string, now: () => number): ReferenceShard {
  const catalog = createReferenceCatalog()
  const pending = createReferencePending()
  const tasks = createReferenceTasks(now)
  const entities = createReferenceEntities(name, now, () => catalog.current()?.epoch, pending.add)
  const indexes = new Map<string, ReferenceIndex>()

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
    contents: catalog.current,
    entities,
    catalog: catalog.table,
    flush: async (options) => throwIfAborted(options?.signal),
    tasks,
    pending,
    definitions: createReferenceDefinitions(now),
    index,
    claims: (spec) => index(spec).claims,
    state: () => ({
      entities: [...entities.rows],
      floor: entities.floorNow,
      purged: entities.purgedNow,
      pending: pending.rows,
      tasks: tasks.snapshot(),
      catalog: catalog.current(),
      indexes: new Map(Array.from(indexes, ([table, found]) => [table, found.state()])),
    }),
    fallBack(state, what) {
      entities.restore(state.entities, state)
      pending.restore(state.pending)
      if (what === 'entities') return
      catalog.restore(state.catalog)
      tasks.restore(state.tasks)
      for (const [table, found] of indexes) found.restore(state.indexes.get(table))
    },
    rowsOf: (specs, ids) => Promise.all(specs.map((spec) => index(spec).rowsOf(ids))),
    createTables: async () => {},
    createIndexTable: async (spec) => index(spec).create(),
    dropIndexTable: async (spec) => index(spec).drop(),
    schema: (specs) => ['entities', ...specs.map((spec) => spec.table)],
    now: async () => now(),
    warnings: async () => [],
  }
}
