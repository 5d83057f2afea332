import type { Bag, EntityId } from '@looseleaf/core'
import type { AnyKind } from '@looseleaf/kinds'

/** What is stored of a bag that may be of one of these kinds, as `taken` of its kind has it; undefined where there are none. */
export function kindCheck(kinds: readonly AnyKind[]): ((bag: Bag) => Bag) | undefined {
  if (kinds.length === 0) return undefined
  return (bag) => {
    const kind = kinds.find(({ shape }) => shape.isOf(bag))
    if (kind === undefined) return bag
    const { id, ...properties } = bag
    const taken = kind.shape.taken(properties, typeof id === 'string' ? (id as EntityId) : undefined)
    return id === undefined ? taken : { id, ...taken }
  }
}
