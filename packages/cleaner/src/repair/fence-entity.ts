import { fence } from '@looseleaf/protocol'
import type { DerivedEntity } from '../look/derive-entity.ts'
import type { Pass } from '../pass/pass.ts'
import type { Tally } from '../pass/tally.ts'

/** `fence` of the protocol, counted. */
export async function fenceEntity(
  { context, signal }: Pass,
  entity: DerivedEntity,
  stamp: number,
  tally: Tally,
): Promise<number | undefined> {
  const version = await fence(context, entity, stamp, { signal })
  if (version !== undefined) tally.fenced++
  return version
}
