import type { Bag, IndexDefinitionData, Key } from '@looseleaf/core'
import { keyIdentity } from './key-identity.ts'
import { deriveEntryRows, type DerivedRows, type Misfit } from './derive-rows.ts'

export interface RowDiff {
  /** Keys to upsert before the entity is committed: all that it has, in an index that includes properties. */
  readonly gained: readonly Key[]
  /** Keys to delete, below the new version, after it. */
  readonly lost: readonly Key[]
  /** Whether the entity has any row in the index afterwards. */
  readonly isIndexed: boolean
  /** Of the new bag. */
  readonly misfits: readonly Misfit[]
}

/**
 * What a write does to an entity's rows in one index. Undefined stands for an entity that is not there: before it was
 * made, or after it was deleted. A key that both bags have is neither gained nor lost; but rows that hold properties of the
 * entity are written with each of its writes, so that their stamp says that they are its own. Of a catalog entry of claims these
 * are the keys that the entity needs to itself.
 */
export function diffRows(
  definition: IndexDefinitionData,
  before: Bag | undefined,
  after: Bag | undefined,
): RowDiff {
  const { keys: oldKeys } = derive(definition, before)
  const { keys: newKeys, misfits } = derive(definition, after)
  return {
    gained: definition.include === undefined ? without(newKeys, oldKeys) : newKeys,
    lost: without(oldKeys, newKeys),
    isIndexed: newKeys.length > 0,
    misfits,
  }
}

function derive(definition: IndexDefinitionData, bag: Bag | undefined): DerivedRows {
  return bag === undefined ? { keys: [], misfits: [] } : deriveEntryRows(definition, bag)
}

function without(keys: readonly Key[], others: readonly Key[]): readonly Key[] {
  if (keys.length === 0 || others.length === 0) return keys
  const identities = new Set(others.map(keyIdentity))
  return keys.filter((key) => !identities.has(keyIdentity(key)))
}
