import { isLooseleafError, parseId, type CallOptions, type EntityId, type Shard } from '@looseleaf/core'
import { tableSpec, type EngineContext } from '@looseleaf/index-engine'

/**
 * Gives an entity a version of now where its row has one that no write can have given (`BODY_DAMAGED`), and its index rows an
 * earlier stamp; its body stays as it is. Answers whether it did. Rows that it lacks or has too many are left to a cleaner. Throws `BAD_ID`.
 *
 * Index rows come first: a row stamped above its entity would be taken for that of a write under way. No writer meets the entity
 * meanwhile, since none can read it.
 */
export async function repairVersion(
  context: EngineContext,
  id: EntityId,
  options: CallOptions = {},
): Promise<boolean> {
  const bytes = parseId(id)
  const { driver, router, catalog } = context
  const { indexes } = await catalog.reload(options)
  // Below the version: a row that has the version of its entity would tell of it, and an attempt that has died may have left this one.
  const stamp = context.clock.next(0)
  const specs = indexes.map((entry) => tableSpec(entry))
  await Promise.all(
    driver.shards.map(async (shard) => {
      for (const spec of specs) {
        try {
          await shard.index(spec).repairStamps(bytes, stamp, options)
        } catch (error) {
          // It comes or goes just now.
          if (!isLooseleafError(error, 'INDEX_NOT_FOUND')) throw error
        }
      }
    }),
  )
  const own = driver.shards[router.shardOfId(bytes)] as Shard
  return own.entities.repairVersion(bytes, context.clock.next(stamp), options)
}
