import type { Bag, EntityId } from '@looseleaf/core'
import type { AnyKind } from '@looseleaf/kinds'

/**
 * Normalizes a bag by its kind, as `taken` of the kind does; undefined where there are no kinds. A bag of none of them stays as it is, and
 * `onOther` is called for it.
 */
export function kindCheck(
  kinds: readonly AnyKind[],
  onOther: () => void = () => {},
): ((bag: Bag) => Bag) | undefined {
  if (kinds.length === 0) return undefined
  return (bag) => {
    const kind = kinds.find(({ shape }) => shape.isOf(bag))
    if (kind === undefined) {
      onOther()
      return bag
    }
    const { id, ...properties } = bag
    const taken = kind.shape.taken(properties, typeof id === 'string' ? (id as EntityId) : undefined)
    return id === undefined ? taken : { id, ...taken }
  }
}
