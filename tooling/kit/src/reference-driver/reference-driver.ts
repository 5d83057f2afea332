import { LooseleafError, type Driver, type Shard } from '@looseleaf/core'
import {
  throwIfAborted,
  type IndexRow,
  type IndexTableSpec,
  type PendingRow,
  type PurgeBounds,
  type ShardCatalog,
} from '@looseleaf/core/internal'
import { createReferenceCatalog } from './reference-catalog.ts'
import { createReferenceCodecEntries, type ReferenceCodecEntries } from './reference-codec-entries.ts'
import { createReferenceEntities, type ReferenceEntities, type ReferenceRow } from './reference-entities.ts'
import { createReferenceIndex, type ReferenceIndex } from './reference-index.ts'
import { createReferenceLocalRows } from './reference-local-rows.ts'
import { createReferencePending, type ReferencePending } from './reference-pending.ts'
import { createReferenceTasks, type ReferenceTasks } from './reference-tasks.ts'

export interface ReferenceDriverOptions {
  readonly shards: number
  /** Returns microseconds since 1970 by the shard's clock. Default: the machine's clock. */
  readonly now?: (shard: number) => number
}

/** Contents of a shard at one moment. */
export interface ShardState {
  readonly entities: readonly ReferenceRow[]
  /** Pending rows share the transaction of their entities, so they fall back with them. */
  readonly pending: readonly PendingRow[]
  readonly floor: number
  readonly purged: PurgeBounds
  readonly tasks: ReturnType<ReferenceTasks['snapshot']>
  readonly catalog: ShardCatalog | undefined
  /** By table, without missing tables. */
  readonly indexes: ReadonlyMap<string, readonly IndexRow[] | undefined>
}

/** A shard in plain memory, whose tables tests can read. */
export interface ReferenceShard extends Shard {
  /** Returns the shard's current catalog; undefined before the first one. */
  contents(): ShardCatalog | undefined
  readonly entities: ReferenceEntities
  readonly pending: ReferencePending
  readonly codecEntries: ReferenceCodecEntries
  index(spec: IndexTableSpec): ReferenceIndex
  state(): ShardState
  /** Falls back to a state: of the entities and their pending rows only, or of everything. */
  fallBack(state: ShardState, what: 'entities' | 'everything'): void
}

export interface ReferenceDriver extends Driver {
  readonly shards: readonly ReferenceShard[]
}

/**
 * Implements the ports in the simplest form: maps and sorted arrays; every call is atomic and answered in a
 * later microtask. It shows what a driver must do, and lets tests read the tables. Its data end with the
 * process.
 */
export function createReferenceDriver(options: ReferenceDriverOptions): ReferenceDriver {
  const now = options.now ?? ((): number => Date.now() * 1000)
  const shards = Array.from({ length: options.shards }, (_, number) =>
    createReferenceShard(`reference shard ${number}`, () => now(number)),
  )
  return { shards, close: async () => {} }
}

export function createReferenceShard(name: string, now: () => number): ReferenceShard {
  const catalog = createReferenceCatalog(
    ({ floor, copies }) => entities.floorNow >= floor && copies.every(entities.isKept),
  )
  const epochOfShard = (): number | undefined => catalog.current()?.epoch
  function checkEpoch(epoch: number): void {
    if (epochOfShard() === epoch) return
    throw new LooseleafError('STALE_EPOCH', `${name} is at another epoch than the writer.`, { shard: name })
  }
  const pending = createReferencePending(checkEpoch)
  const tasks = createReferenceTasks(now)
  const indexes = new Map<string, ReferenceIndex>()
  function index(spec: IndexTableSpec): ReferenceIndex {
    let table = indexes.get(spec.table)
    if (table === undefined) {
      table = createReferenceIndex(name, spec, checkEpoch, entities.current)
      indexes.set(spec.table, table)
    }
    return table
  }

  const localRows = createReferenceLocalRows(name, index)
  const entities = createReferenceEntities(
    name,
    now,
    epochOfShard,
    checkEpoch,
    pending.addDeferred,
    localRows,
    ({ spec, key, from, to }) => {
      const table = index(spec)
      const version = table.versionOf(key, from)
      return {
        isHeld: version !== undefined,
        give: () =>
          table.putClaim({ key, entityId: to.entityId, version: Math.max(version ?? 0, to.version) }),
      }
    },
  )

  return {
    name,
    contents: catalog.current,
    entities,
    catalog: catalog.table,
    flush: async (options) => throwIfAborted(options?.signal),
    tasks,
    pending,
    codecEntries: createReferenceCodecEntries(now),
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
