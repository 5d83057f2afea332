import type { Bag } from '@looseleaf/core'
import type { IndexedProperty } from '@looseleaf/core/internal'
import { requireKey } from '../definitions/key-functions.ts'
import { propertyValue } from '../definitions/property-value.ts'
import { toKeyValue } from './key-value.ts'
import type { NearKey } from './near-key.ts'

/** A property that decides the place of entities, as an index that has it as its `shardOn` declares it. */
export type PlacingProperty = Pick<IndexedProperty, 'name' | 'of' | 'type' | 'key'>

/**
 * Returns the key that a bag has for a property: the row of an index that is sharded on the property is in the bucket of this key. Undefined
 * without a value; `misfit` is the reason why a value has no key, without the value.
 */
export function nearKeyOf(
  { name, of = name, type, key }: PlacingProperty,
  bag: Bag,
): NearKey | { readonly misfit: string } | undefined {
  const value = propertyValue(bag, of)
  if (value === undefined || value === null) return undefined
  const plain = toKeyValue(type, value)
  if ('misfit' in plain) return plain
  if (key === undefined) return nearKey(type, value)
  const { to, derive, expected } = requireKey(key)
  let derived: unknown
  try {
    // The value has the type `from`.
    derived = derive(value as never)
  } catch {
    return { misfit: `the function of the key ${key} threw` }
  }
  const result = toKeyValue(to, derived)
  return 'misfit' in result
    ? { misfit: expected === undefined ? result.misfit : `${expected} is expected` }
    : nearKey(to, derived)
}

/** Puts a value that `toKeyValue` takes for the type under this type. */
function nearKey(type: IndexedProperty['type'], value: unknown): NearKey {
  return { [type]: value } as unknown as NearKey
}
