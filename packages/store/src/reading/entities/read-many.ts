import { formatId, type CallOptions, type Entity, type EntityId } from '@looseleaf/core'
import { idKey } from '@looseleaf/core/internal'
import type { OnDamaged } from '@looseleaf/index-engine/internal'
import { damagedHandler } from './damaged-handler.ts'
import type { EntityReader, ReadOptions } from './entity-reader.ts'
import { partialAnswer, type Skipping } from './missing-shards.ts'
import type { PartialEntities } from './partial-answer.ts'

interface View {
  readonly reader: Pick<EntityReader, 'getMany'>
  readonly isReplicated: boolean
  readonly skipping: Skipping | undefined
}

/** Reads the entities with these ids, in their order. A view that skips missing shards gives a partial answer. */
export function readMany(
  view: View,
  ids: readonly Uint8Array[],
  { signal, onDamaged }: CallOptions & { readonly onDamaged?: OnDamaged | undefined },
): Promise<(Entity | undefined)[] | PartialEntities> {
  const options = { signal, handleDamaged: damagedHandler(onDamaged, view) }
  const { reader, skipping } = view
  return skipping === undefined ? reader.getMany(ids, options) : readAvailable(reader, skipping, ids, options)
}

async function readAvailable(
  reader: View['reader'],
  skipping: Skipping,
  ids: readonly Uint8Array[],
  options: ReadOptions,
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
