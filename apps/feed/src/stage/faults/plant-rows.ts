import type { CatalogEntry, IndexRow } from '@looseleaf/core/internal'
import { tableSpec, type EngineContext } from '@looseleaf/index-engine/internal'
import type { Shard } from 'looseleaf'

/** Age of planted rows in microseconds, the unit of versions. A cleaning skips rows younger than a minute. */
const LONG_AGO = 300_000_000

/**
 * Writes index rows without an entity, as a writer leaves them that dies before its commit. They copy the keys at both ends of
 * the table on each shard, so that queries meet them; an empty table gets none. Calls `onPlanted` with the number of rows per
 * shard. Rejects with the error of a shard after the other shards have ended.
 */
export async function plantRows(
  { driver, router, clock }: EngineContext,
  entry: CatalogEntry,
  perShard: number,
  onPlanted: (rows: number) => void,
): Promise<void> {
  const spec = tableSpec(entry)
  async function plantOn(shard: Shard): Promise<number> {
    const table = shard.index(spec)
    const limit = Math.ceil(perShard / 2)
    const ends = await Promise.all(
      (['asc', 'desc'] as const).map((order) => table.scan({ prefix: [], order, limit })),
    )
    // The new id is on the shard of the copied id, because rows of an index with `shardOn: 'id'` stand on their entity's shard.
    const rows = ends.flat().map(({ key, entityId }): IndexRow => ({
      key,
      entityId: router.newId(entityId),
      version: clock.next(0) - LONG_AGO,
      ...(spec.covering && { included: null }),
    }))
    await table.upsert(rows)
    return rows.length
  }
  const results = await Promise.allSettled(
    driver.shards.map(async (shard) => onPlanted(await plantOn(shard))),
  )
  for (const result of results) if (result.status === 'rejected') throw result.reason
}
