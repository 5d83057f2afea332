import type { CallOptions, PendingRow } from '@looseleaf/core'
import { idKey } from './id-key.ts'
import { cleanableIndexes, indexTarget, shardAt, type IndexTarget } from './index-target.ts'
import { createPass, type Pass, type PassOptions } from './pass.ts'
import { reconcile } from './reconcile.ts'
import type { CleanerTarget } from './target.ts'

/** Pending rows that are worked on together. */
const PAGE = 200

/**
 * Writes the index rows that writes left pending while an index shard did not take them, and takes the pending rows away.
 * Answers how many. Nothing is asked of stores that never defer. Throws what a shard throws that is still down; what was
 * drained stays drained.
 */
export async function drainPending(store: CleanerTarget, options: PassOptions = {}): Promise<number> {
  const { context } = store
  if (!context.catalog.current().mayDefer) return 0
  const pass = createPass(context, options)
  const drained = await Promise.all(context.driver.shards.map((_, shard) => drainShard(pass, shard)))
  return drained.reduce((sum, count) => sum + count, 0)
}

async function drainShard(pass: Pass, shard: number): Promise<number> {
  const { pending } = shardAt(pass.context, shard)
  let drained = 0
  for (;;) {
    const rows = await pending.page(PAGE, call(pass))
    if (rows.length === 0) return drained
    const removed = await drainRows(pass, shard, rows)
    drained += removed
    // Those that were committed anew meanwhile stay, for the next round.
    if (removed === 0 || rows.length < PAGE) return drained
  }
}

/**
 * The versions are read before the rows are written. An entity at version v has been given the rows of v or of a later
 * version by then, so pending rows up to v are settled; a later one was committed since.
 */
async function drainRows(pass: Pass, shard: number, rows: readonly PendingRow[]): Promise<number> {
  const { entities, pending } = shardAt(pass.context, shard)
  const ids = [...new Map(rows.map((row) => [idKey(row.entityId), row.entityId])).values()]
  const versions = await entities.readVersions(ids, call(pass))
  await reconcile(pass, targetsOf(pass, rows), ids)
  const versionOf = new Map(ids.map((id, i) => [idKey(id), versions[i] ?? 0]))
  return pending.remove(
    rows.map(({ entityId, table }) => ({
      entityId,
      table,
      before: (versionOf.get(idKey(entityId)) ?? 0) + 1,
    })),
    call(pass),
  )
}

/** An index that was dropped since needs no rows: its pending rows are only taken away. */
function targetsOf(pass: Pass, rows: readonly PendingRow[]): IndexTarget[] {
  const tables = new Set(rows.map((row) => row.table))
  return cleanableIndexes(pass.context)
    .filter((entry) => tables.has(entry.table))
    .map((entry) => indexTarget(pass.context, entry))
}

const call = ({ signal }: Pass): CallOptions => ({ signal })
