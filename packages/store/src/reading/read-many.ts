import type { Entity } from '@looseleaf/core'
import { toEntity } from '@looseleaf/index-engine'
import type { GetManyOptions } from '../types.ts'
import { damagedTeller } from './damaged-teller.ts'
import type { EntityReader } from './entity-reader.ts'

/** The entities of these ids, in their order. */
export async function readMany(
  reader: EntityReader,
  ids: readonly Uint8Array[],
  { signal, onDamaged }: Pick<GetManyOptions, 'signal' | 'onDamaged'>,
): Promise<(Entity | undefined)[]> {
  const entities: (Entity | undefined)[] = []
  await reader.each(ids, { signal, tellDamaged: damagedTeller(onDamaged) }, (group) => {
    for (const found of group) entities.push(found && toEntity(found))
    return true
  })
  return entities
}
