import {
  distinctIds,
  idKey,
  isLooseleafError,
  throwIfAborted,
  withCallbacks,
  type CallOptions,
  type CatalogEntry,
  type PendingRow,
} from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine'
import { checkStore, learnPolicies, mayBeLost, movedOrUndone, shardAt, upTo } from '@looseleaf/protocol'
import { indexTarget } from '../pass/index-target.ts'
import { passOptionKinds, type PassOptions } from '../pass/pass-options.ts'
import { watchUnreadable, type Pass } from '../pass/pass.ts'
import type { CleanerStore } from '../pass/cleaner-store.ts'
import { createKeptRemovals, type KeptRemovals } from '../repair/kept-removals.ts'
import { createRepairPass, type RepairPass } from '../repair/repair-pass.ts'
import { restamp } from './restamp.ts'

/** Pending rows that are worked on together. */
const PAGE = 200

/**
 * Writes the index rows that writes left pending while an index shard did not take them, and takes the pending rows away.
 * Answers how many. Throws what a shard throws that is still down; what can be drained is, and stays so.
 */
export async function drainPending(store: CleanerStore, options: PassOptions = {}): Promise<number> {
  checkStore('drainPending', store, options, passOptionKinds)
  const { context } = store
  if (!context.catalog.current().mayDefer) await context.catalog.reload({ signal: options.signal })
  return withCallbacks(options, (taken) => drainKnown(context, taken))
}

/**
 * As `drainPending`, for those who read the catalog every now and then: nothing is asked of stores that never defer. Rows
 * that their entities have lost are kept for a while: whoever calls this again gives the same `removals`, others leave them
 * to the tail and the sweep.
 */
export async function drainKnown(
  context: EngineContext,
  options: PassOptions,
  removals: KeptRemovals = createKeptRemovals(context),
): Promise<number> {
  if (!context.catalog.current().mayDefer) return 0
  const pass = createRepairPass(context, options, { removals })
  await removals.sendDue(options.signal)
  const drained = await Promise.allSettled(context.driver.shards.map((_, shard) => drainShard(pass, shard)))
  let sum = 0
  for (const result of drained) {
    if (result.status === 'rejected') throw result.reason
    sum += result.value
  }
  return sum
}

/**
 * Once through everything that is pending there. An index that cannot be written is left out from then on, and entities
 * that cannot be settled yet are passed by, so that neither keeps the others from it, however many they are.
 */
async function drainShard(pass: RepairPass, shard: number): Promise<number> {
  const { pending } = shardAt(pass.context, shard)
  const leftOut = new Set<string>()
  let drained = 0
  let error: unknown
  let after: PendingRow | undefined
  for (;;) {
    const rows = await pending.page({ after, except: [...leftOut], limit: PAGE }, call(pass))
    if (rows.length > 0) {
      const page = await drainRows(pass, shard, rows)
      drained += page.removed
      error ??= page.error
      for (const table of page.tables) leftOut.add(table)
    }
    if (rows.length < PAGE) break
    after = rows.at(-1)
  }
  if (error !== undefined) throw error
  return drained
}

interface DrainedPage {
  readonly removed: number
  /** Of indexes that could not be written. */
  readonly tables: ReadonlySet<string>
  /** What kept one of them from it. */
  readonly error: unknown
}

/**
 * The entities are read before the rows are written. An entity at version v has been given the rows of v or of a later
 * version by then, so pending rows up to v are settled; a later one was committed since.
 */
async function drainRows(pass: RepairPass, shard: number, rows: readonly PendingRow[]): Promise<DrainedPage> {
  const { entities, pending } = shardAt(pass.context, shard)
  const ids = distinctIds(rows.map(({ entityId }) => entityId))
  const readAt = pass.time.now()
  const found = (await entities.readBounded(ids, 0, call(pass))).filter((row) => row !== undefined)
  // Of one that has moved, or that a crash has undone, nothing is said in this round.
  const moved = new Set(await movedOrUndone(pass.context, found, call(pass)))
  const entityOf = new Map(found.filter((row) => !moved.has(row)).map((row) => [idKey(row.id), row]))
  const { tables, unreadable, error } = await writeRows(pass, rows, ids)
  await learnPolicies(pass.context, ids, pass.signal)
  const settled = rows.flatMap(({ entityId, table }) => {
    const entity = entityOf.get(idKey(entityId))
    if (entity === undefined || tables.has(table) || unreadable.has(idKey(entityId))) return []
    // A failover can bring back the version before it, whose rows may be pending too.
    return mayBeLost(pass.context, entity, readAt) ? [] : [{ entityId, table, before: upTo(entity.version) }]
  })
  const removed = await pending.remove(settled, call(pass))
  return { removed, tables, error }
}

/** What is left pending, and why. */
interface StillPending {
  /** Of indexes that could not be written. */
  readonly tables: ReadonlySet<string>
  /** Entities whose body is in a format that this process does not know, by `idKey`: another process may. */
  readonly unreadable: ReadonlyMap<string, unknown>
  readonly error: unknown
}

/**
 * Writes the rows of every index that there is. One that is on its way out counts too: somebody who does not know that
 * yet may query it for as long as a table of it is there. If it has lost one already, pending rows stay until the last is
 * gone.
 */
async function writeRows(
  pass: RepairPass,
  rows: readonly PendingRow[],
  ids: readonly Uint8Array[],
): Promise<StillPending> {
  const { context } = pass
  const names = [...new Set(rows.map(({ table }) => table))]
  // An index that this process has not heard of is new or gone.
  if (!names.every((table) => entryOf(context, table) !== undefined)) {
    await context.catalog.reload(call(pass))
  }
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
