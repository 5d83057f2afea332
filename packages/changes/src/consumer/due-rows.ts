import { formatId, parseId, type Shard } from '@looseleaf/core'
import type { EntityRow } from '@looseleaf/core/internal'
import { longestBody, wholeRows, type EngineContext } from '@looseleaf/index-engine/internal'
import type { MovedRows } from '@looseleaf/protocol/internal'
import type { HeldPartition } from './partition-leases.ts'

/** Failing changes to retry: the partitions of their entities, by id. */
export type DueChanges = ReadonlyMap<string, HeldPartition>

/**
 * Reads the rows that retries of failing changes hand over: the current rows of these entities, by id. `later` stands for a row that may
 * not be durable yet. Returns nothing if the buckets of the shard have changed: the next retry goes by the new ones.
 */
export type ReadDueRows = (due: DueChanges) => Promise<ReadonlyMap<string, EntityRow | 'later'>>

export function createReadDueRows(
  context: EngineContext,
  currentShard: () => Shard,
  moved: Pick<MovedRows, 'epoch'>,
  signal: AbortSignal,
): ReadDueRows {
  async function readRows(ids: readonly Uint8Array[]): Promise<Map<string, EntityRow>> {
    const found = new Map<string, EntityRow>()
    const shard = currentShard()
    const bounded = await shard.entities.readBounded(ids, longestBody(ids.length), { signal })
    const existing = bounded.filter((row) => row !== undefined)
    for await (const run of wholeRows(shard, context, existing, { signal }))
      for (const row of run) found.set(formatId(row.id), row)
    return found
  }

  return async (due) => {
    const ids = [...due.keys()].map(parseId)
    const rows = await readRows(ids)
    const { epoch, purged } = await currentShard().entities.floor({ signal })
    if (epoch !== moved.epoch) return new Map()
    // The tombstone was purged while the change failed. The deletion is still handed over, with the highest version that was purged.
    for (const [id, { failing, place }] of due) {
      if (rows.has(id)) continue
      const version = Math.max(purged.version - 1, failing.get(id)?.version ?? 0)
      rows.set(id, { id: parseId(id), version, updated: place.updated - 1, body: null })
    }
    const isBelow = ([id, { updated }]: [string, EntityRow]): boolean => updated < due.get(id)!.place.updated
    if ([...rows].every(isBelow)) return rows
    // Some entity was written after the place of its partition. That write comes later by itself, unless the partition is full of failing
    // changes and waits. So make the current rows durable, and retry those that the flush found unchanged.
    await currentShard().flush({ signal })
    const again = await readRows(ids)
    return new Map([...again].map(([id, row]) => [id, rows.get(id)?.version === row.version ? row : 'later']))
  }
}
