import { formatId, type EntityId } from '@looseleaf/core'
import { idKey } from '@looseleaf/core/internal'
import type { EntityReader, ReadOptions } from './entity-reader.ts'
import { partialAnswer, type Skipping } from './missing-shards.ts'
import type { PartialEntities } from './partial-answer.ts'

/** Reads the entities with these ids as far as their shards answer. */
export async function getAvailable(
  reader: Pick<EntityReader, 'getMany'>,
  skipping: Skipping,
  ids: readonly Uint8Array[],
  options: Omit<ReadOptions, 'leaveOut'>,
): Promise<PartialEntities> {
  const missing = skipping.begin()
  /** By `idKey`, so that an id that was given twice is in the answer once. */
  const unread = new Map<string, EntityId>()
  const items = await reader.getMany(ids, {
    ...options,
    leaveOut(error, shard, left) {
      missing.leaveOut(error, shard)
      for (const id of left) unread.set(idKey(id), formatId(id))
    },
  })
  return { items, unread: [...unread.values()], ...partialAnswer(missing) }
}
