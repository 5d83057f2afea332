import type { Entity } from '@looseleaf/core'
import { toEntity } from '@looseleaf/index-engine'
import type { GetManyOptions } from '../types.ts'
import { damagedTeller } from './damaged-teller.ts'
import type { ReadView } from './replica-reads.ts'

/** The entities of these ids, in their order. */
export async function readMany(
  view: Pick<ReadView, 'reader' | 'isReplicated'>,
  ids: readonly Uint8Array[],
  { signal, onDamaged }: Pick<GetManyOptions, 'signal' | 'onDamaged'>,
): Promise<(Entity | undefined)[]> {
  const entities: (Entity | undefined)[] = []
  const tellDamaged = damagedTeller(onDamaged, view)
  await view.reader.each(ids, { signal, tellDamaged }, (group) => {
    for (const found of group) entities.push(found && toEntity(found))
    return true
  })
  return entities
}
