import type { Bag, EntityId } from '@looseleaf/core'
import type { AnyKind } from '@looseleaf/kinds'

/**
 * Returns a function that checks a bag against the schema of its kind and returns the bag to store; undefined without kinds.
 * A bag of no kind is returned unchanged, after a call of `onOther`.
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
