import type { CallOptions, CatalogEntry, IndexRow, Shard } from '@looseleaf/core'
import { tableSpec, type EngineContext } from '@looseleaf/index-engine'

/** In microseconds, as versions are: a row that is younger than a minute may be of a writer that is at work, and is left alone. */
const LONG_AGO = 300_000_000

/**
 * Puts rows into an index that lead to no entity, as writers leave them that die between their index rows and their commit: with the keys
 * of rows at both ends of its table on each shard, so that queries meet them. Answers how many, which is none where it is empty.
 */
export async function plantRows(
  { driver, router, clock }: EngineContext,
  entry: CatalogEntry,
  perShard: number,
  options: CallOptions = {},
): Promise<number> {
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
  const planted = await Promise.all(driver.shards.map(plantOn))
  return planted.reduce((sum, count) => sum + count, 0)
}
