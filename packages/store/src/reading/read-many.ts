import type { Entity } from '@looseleaf/core'
import { toEntity } from '@looseleaf/index-engine/internal'
import type { GetManyOptions } from '../types.ts'
import { damagedHandler } from './damaged-handler.ts'
import type { ReadView } from './replica-reads.ts'

/** Reads the entities of these ids, in their order. */
export async function readMany(
  view: Pick<ReadView, 'reader' | 'isReplicated'>,
  ids: readonly Uint8Array[],
  { signal, onDamaged }: Pick<GetManyOptions, 'signal' | 'onDamaged'>,
): Promise<(Entity | undefined)[]> {
  const entities: (Entity | undefined)[] = []
  const handleDamaged = damagedHandler(onDamaged, view)
  await view.reader.each(ids, { signal, handleDamaged }, (group) => {
    for (const found of group) entities.push(found && toEntity(found))
    return true
  })
  return entities
}
