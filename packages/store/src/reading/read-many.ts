import type { Entity } from '@looseleaf/core'
import { toEntity } from '@looseleaf/index-engine'
import type { GetManyOptions } from '../types.ts'
import { damagedTeller } from './damaged-teller.ts'
import type { ReadView } from './replica-reads.ts'

/** The entities of these ids, in their order. */
export async function readMany(
  { reader, isReplicated = false }: Pick<ReadView, 'reader'> & Partial<Pick<ReadView, 'isReplicated'>>,
  ids: readonly Uint8Array[],
  { signal, onDamaged }: Pick<GetManyOptions, 'signal' | 'onDamaged'>,
): Promise<(Entity | undefined)[]> {
  const entities: (Entity | undefined)[] = []
  // What is damaged on a replica may be whole on its primary, which is asked when this fails.
  const tellDamaged = isReplicated ? undefined : damagedTeller(onDamaged)
  await reader.each(ids, { signal, tellDamaged }, (group) => {
    for (const found of group) entities.push(found && toEntity(found))
    return true
  })
  return entities
}
