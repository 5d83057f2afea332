import { isLooseleafError, type CallOptions } from '@looseleaf/core'
import {
  distinctIds,
  idKey,
  throwIfAborted,
  withCallbacks,
  type CatalogEntry,
  type PendingRow,
} from '@looseleaf/core/internal'
import { presentNumbers, type EngineContext } from '@looseleaf/index-engine/internal'
import {
  checkStore,
  learnPolicies,
  mayBeLost,
  movedOrUndone,
  shardAt,
  upTo,
  type AnyStore,
} from '@looseleaf/protocol/internal'
import { readDerived } from '../look/read-entities.ts'
import { indexTarget, type IndexTarget } from '../pass/index-target.ts'
import { passOptionKinds, type PassOptions } from '../pass/pass-options.ts'
import { watchUnreadable, type Pass } from '../pass/pass.ts'
import { createKeptRemovals, type KeptRemovals } from '../repair/kept-removals.ts'
import { reconcile } from '../repair/reconcile.ts'
import { createRepairPass, type RepairPass } from '../repair/repair-pass.ts'
import { sweepDerived } from '../sweep/sweep-entities.ts'

const PAGE = 200

/**
 * Writes the index rows that were left pending because their shard did not answer, and deletes the pending rows. Returns their number. If a
 * shard still does not answer, drains the rest and throws the error of that shard.
 */
export async function drainPending(store: AnyStore, options: PassOptions = {}): Promise<number> {
  checkStore('drainPending', store, options, passOptionKinds)
  const { context } = store
  if (!context.catalog.current().mayDefer) await context.catalog.reload({ signal: options.signal })
  return withCallbacks(options, (taken) => drainKnown(context, taken))
}

/**
 * As `drainPending`, without reloading the catalog; sends no statement if the known catalog defers no writes. Lost rows that it meets are kept
 * for a while. A caller that repeats this call passes the same `removals` to delete them later; otherwise the tail and the sweep find them.
 */
export async function drainKnown(
  context: EngineContext,
  options: PassOptions,
  removals: KeptRemovals = createKeptRemovals(context),
): Promise<number> {
  if (!context.catalog.current().mayDefer) return 0
  const pass = createRepairPass(context, options, { removals })
  await removals.sendDue(options.signal)
  const drained = await Promise.allSettled(
    presentNumbers(context.driver).map((shard) => drainShard(pass, shard)),
  )
  let sum = 0
  for (const result of drained) {
    if (result.status === 'rejected') throw result.reason
    sum += result.value
  }
  return sum
}

/**
 * Reads all pending rows of a shard once. After an index could not be written, its rows are left out; entities that cannot be settled yet are
 * skipped. Neither delays the other pending rows.
 */
async function drainShard(pass: RepairPass, shard: number): Promise<number> {
  const { pending } = shardAt(pass.context, shard)
  const excluded = new Set<string>()
  let drained = 0
  let error: unknown
  let after: PendingRow | undefined
  for (;;) {
    const rows = await pending.page({ after, except: [...excluded], limit: PAGE }, call(pass))
    if (rows.length > 0) {
      const page = await drainRows(pass, shard, rows)
      drained += page.removed
      error ??= page.error
      for (const table of page.tables) excluded.add(table)
    }
    if (rows.length < PAGE) break
    after = rows.at(-1)
  }
  if (error !== undefined) throw error
  return drained
}

/**
 * Drains one page. The order matters: the entities are read before their rows are written.
 * 1. An entity is read at version v.
 * 2. The rows of v, or of a version committed since, are written.
 * 3. Pending rows up to v are deleted. A pending row with a later stamp belongs to a later commit, and stays.
 *
 * The delete carries the epoch of the shard by which the places of the rows were chosen:
 * 1. The rows are written on the shard that has them.
 * 2. A move is announced on all shards, and copies the rows of that shard; the rows of step 1 arrive behind the copy.
 * 3. The pending rows are deleted. The target would lack the rows for ever.
 */
async function drainRows(pass: RepairPass, shard: number, page: readonly PendingRow[]) {
  const { entities, pending } = shardAt(pass.context, shard)
  // An index that this process does not know is new or dropped.
  if (!page.every(({ table }) => entryOf(pass.context, table) !== undefined))
    await pass.context.catalog.reload(call(pass))
  const { placement, epochs } = pass.context.catalog.current()
  const epoch = epochs[shard] ?? 0
  // While a bucket moves, its pending rows are on both shards. The shard that does not serve it leaves its own to the move.
  const rows = page.filter(({ entityId }) => placement.shardOfId(entityId) === shard)
  const ids = distinctIds(rows.map(({ entityId }) => entityId))
  const readAt = pass.time.now()
  const found = (await entities.readBounded(ids, 0, call(pass))).filter((row) => row !== undefined)
  // Entities that moved, or that a crash undid, are left to the next round.
  const moved = new Set(await movedOrUndone(pass.context, found, call(pass)))
  const entityOf = new Map(found.filter((row) => !moved.has(row)).map((row) => [idKey(row.id), row]))
  const { tables, unreadable, error } = await writeRows(pass, rows, ids)
  await learnPolicies(pass.context, ids, pass.signal)
  const settled = rows.flatMap(({ entityId, table }) => {
    const entity = entityOf.get(idKey(entityId))
    if (entity === undefined || tables.has(table) || unreadable.has(idKey(entityId))) return []
    // A failover may bring back the version before, whose rows may be pending too.
    return mayBeLost(pass.context, entity, readAt) ? [] : [{ entityId, table, before: upTo(entity.version) }]
  })
  try {
    const removed = await pending.remove(settled, { ...call(pass), epoch })
    return { removed, tables, error }
  } catch (failure) {
    if (!isLooseleafError(failure, 'STALE_EPOCH')) throw failure
    // The next round writes the rows again, where they are by the new catalog.
    await pass.context.catalog.reload(call(pass))
    return { removed: 0, tables, error }
  }
}

/**
 * Writes the rows of these entities in every index with a pending row. This includes retiring indexes, because a process that does not know
 * the new state may query one until its last table is dropped. If some of its tables are dropped already, its pending rows stay until all
 * are. Returns the tables that could not be written with the first error, and the entities, by `idKey`, whose body only another process may
 * be able to decode.
 */
async function writeRows(pass: RepairPass, rows: readonly PendingRow[], ids: readonly Uint8Array[]) {
  const { context } = pass
  const names = [...new Set(rows.map(({ table }) => table))]
  const { pass: watched, unreadable } = watchUnreadable(pass)
  const tables = new Set<string>()
  let error: unknown
  for (const table of names) {
    const entry = entryOf(context, table)
    if (entry === undefined) continue
    try {
      await restamp(watched, indexTarget(context, entry), ids)
    } catch (failure) {
      throwIfAborted(pass.signal)
      tables.add(table)
      if (entry.state !== 'retiring' || !isLooseleafError(failure, 'INDEX_NOT_FOUND')) error ??= failure
    }
  }
  return { tables, unreadable, error }
}

function entryOf(context: EngineContext, table: string): CatalogEntry | undefined {
  return context.catalog.current().indexes.find((entry) => entry.table === table)
}

const call = ({ signal }: Pass): CallOptions => ({ signal })

/**
 * Writes every row of these entities with their current version, also rows that exist, and repairs their other rows. An existing row needs the
 * new stamp:
 * 1. Version 1 of an entity has the row. Version 2 loses it, and its writer schedules the delete of the row.
 * 2. Version 3 has the row again, but its write of the row is deferred, so the row keeps the stamp of version 1.
 * 3. The delete of version 2 removes every stamp below 2. Only the stamp of version 3 protects the row.
 */
async function restamp(pass: RepairPass, target: IndexTarget, ids: readonly Uint8Array[]): Promise<void> {
  await sweepDerived(pass, [target], await readDerived(pass, [target], ids), () => true)
  await reconcile(pass, [target], ids)
}
