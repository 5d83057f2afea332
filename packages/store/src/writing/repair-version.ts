import {
  isLooseleafError,
  LooseleafError,
  parseId,
  type CallOptions,
  type EntityId,
  type Shard,
} from '@looseleaf/core'
import {
  isWritable,
  tableSpec,
  presentShards,
  type EngineContext,
  type Placement,
} from '@looseleaf/index-engine/internal'

/**
 * Gives an entity a current version if its row has one that no write can have given (`BODY_DAMAGED`), and lowers the stamps of its
 * index rows below that version. The body stays. Returns true if the entity was repaired. A cleaner then adds missing rows and deletes
 * superfluous ones. Throws `BAD_ID`, and `CONFLICT` while its bucket is being moved: the repair carries no epoch, so it could come after the
 * last copy of the entity, which would then have the old version on its new shard.
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
  requireAtRest(placement, id, bytes)
  // Below the new version: a row with the version of its entity counts as committed, and a crashed attempt may have written this one.
  const stamp = context.clock.next(0)
  const specs = indexes.map((entry) => tableSpec(entry))
  await Promise.all(
    presentShards(driver).map(async (shard) => {
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
  const number = placement.shardOfId(bytes)
  const shard = driver.shards[number] as Shard
  const repaired = await shard.entities.repairVersion(bytes, context.clock.next(stamp), options)
  // A move may have begun since, if the repair took very long.
  requireAtRest((await catalog.reloadShard(number, options)).placement, id, bytes, number)
  return repaired
}

/** Throws `CONFLICT` if the bucket of an entity is being moved, or is no longer on this shard. */
function requireAtRest(
  placement: Placement,
  id: EntityId,
  bytes: Uint8Array,
  shard = placement.shardOfId(bytes),
): void {
  const isAnnounced = placement.rows.writtenOfId(bytes).length > 1
  if (!isAnnounced && isWritable(placement, bytes) && placement.shardOfId(bytes) === shard) return
  throw new LooseleafError(
    'CONFLICT',
    `Entity ${id} is being moved to another shard. Repair it when the move has ended.`,
    { entity: id },
  )
}
