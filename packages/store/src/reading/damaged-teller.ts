import type { LooseleafError } from '@looseleaf/core'
import type { OnDamaged } from '@looseleaf/index-engine'

/** Who is told of bodies that cannot be decoded; undefined where such a one fails the call. */
export function damagedTeller(
  onDamaged: OnDamaged | undefined,
): ((error: LooseleafError) => void) | undefined {
  if (onDamaged === 'skip') return () => undefined
  return typeof onDamaged === 'function' ? onDamaged : undefined
}
