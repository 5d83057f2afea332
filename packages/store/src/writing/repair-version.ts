import { isLooseleafError, parseId, type CallOptions, type EntityId, type Shard } from '@looseleaf/core'
import { tableSpec, type EngineContext } from '@looseleaf/index-engine/internal'

/**
 * Gives an entity a current version if its row has one that no write can have given (`BODY_DAMAGED`), and lowers the stamps of its
 * index rows below that version. The body stays. Returns true if the entity was repaired. A cleaner then adds missing rows and deletes
 * superfluous ones. Throws `BAD_ID`.
 *
 * Repairs index rows first, because a row stamped above its entity looks like the row of a write in flight. No writer interferes,
 * since none can read the entity.
 */
export async function repairVersion(
  context: EngineContext,
  id: EntityId,
  options: CallOptions = {},
): Promise<boolean> {
  const bytes = parseId(id)
  const { driver, catalog } = context
  const { indexes, placement } = await catalog.reload(options)
  // Below the new version: a row with the version of its entity counts as committed, and a crashed attempt may have written this one.
  const stamp = context.clock.next(0)
  const specs = indexes.map((entry) => tableSpec(entry))
  await Promise.all(
    driver.shards.map(async (shard) => {
      for (const spec of specs) {
        try {
          await shard.index(spec).repairStamps(bytes, stamp, options)
        } catch (error) {
          // The index is being added or dropped.
          if (!isLooseleafError(error, 'INDEX_NOT_FOUND')) throw error
        }
      }
    }),
  )
  const shard = driver.shards[placement.shardOfId(bytes)] as Shard
  return shard.entities.repairVersion(bytes, context.clock.next(stamp), options)
}
