import type { LooseleafError } from '@looseleaf/core'
import type { OnDamaged } from '@looseleaf/index-engine'
import type { ReadView } from './replica-reads.ts'

/**
 * Who is told of bodies that cannot be decoded; undefined where such a one fails the call. What is damaged on a replica may be whole on its
 * primary, which is asked when the read fails.
 */
export function damagedTeller(
  onDamaged: OnDamaged | undefined,
  view?: Pick<ReadView, 'isReplicated'>,
): ((error: LooseleafError) => void) | undefined {
  if (view?.isReplicated) return undefined
  if (onDamaged === 'skip') return () => undefined
  return typeof onDamaged === 'function' ? onDamaged : undefined
}
