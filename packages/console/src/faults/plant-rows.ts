import type { CallOptions, CatalogEntry, IndexRow, Shard } from '@looseleaf/core'
import { tableSpec, type EngineContext } from '@looseleaf/index-engine'

/** In microseconds, as versions are: a row that is younger than a minute may be of a writer that is at work, and is left alone. */
const LONG_AGO = 300_000_000

/**
 * Puts rows into an index that lead to no entity, as writers leave them that die between their index rows and their commit: with the keys
 * of rows at both ends of its table on each shard, so that queries meet them. `onPlanted` is told how many, by shard: none
 * where it is empty. Rejects with what a shard has failed with, when all others are done.
 */
export async function plantRows(
  { driver, router, clock }: EngineContext,
  entry: CatalogEntry,
  perShard: number,
  onPlanted: (rows: number) => void,
  options: CallOptions = {},
): Promise<void> {
  const spec = tableSpec(entry)
  async function plantOn(shard: Shard): Promise<number> {
    const table = shard.index(spec)
    const limit = Math.ceil(perShard / 2)
    const ends = await Promise.all(
      (['asc', 'desc'] as const).map((order) => table.scan({ prefix: [], order, limit }, options)),
    )
    // Near its like, so that a row which lives with its entity is where it would be.
    const rows = ends.flat().map(({ key, entityId }): IndexRow => ({
      key,
      entityId: router.newId(entityId),
      version: clock.next(0) - LONG_AGO,
      ...(spec.covering && { included: null }),
    }))
    await table.upsert(rows, options)
    return rows.length
  }
  const results = await Promise.allSettled(
    driver.shards.map(async (shard) => onPlanted(await plantOn(shard))),
  )
  for (const result of results) if (result.status === 'rejected') throw result.reason
}
