import type { EntityId, LooseleafError } from '@looseleaf/core'
import type { OnDamaged } from '@looseleaf/index-engine/internal'

/**
 * Returns the function to call with the error of a damaged body; undefined if the error has to fail the read. A read of replicas always
 * fails, because the body may be whole on the primary, which is then read instead.
 */
export function damagedHandler(
  onDamaged: OnDamaged | undefined,
  view?: { readonly isReplicated: boolean },
): ((error: LooseleafError) => void) | undefined {
  if (view?.isReplicated) return undefined
  if (onDamaged === 'skip') return () => undefined
  return typeof onDamaged === 'function' ? onDamaged : undefined
}

/** Tells the handler of each damaged entity once, also if its page begins anew. */
export function onceForEach(
  handle: ((error: LooseleafError) => void) | undefined,
): ((error: LooseleafError) => void) | undefined {
  if (handle === undefined) return undefined
  const told = new Set<EntityId | undefined>()
  return (error) => {
    if (told.has(error.entity)) return
    told.add(error.entity)
    handle(error)
  }
}
