import type { Bag, IndexDefinitionData, Key } from '@looseleaf/core'
import { deriveEntryRows, type DerivedRows, type Misfit } from './derive-rows.ts'
import { isSameKey, keyIdentity } from './key-identity.ts'

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
 * What a write does to an entity's rows in one index. `oldKeys` are those that it had (`deriveEntryRows` of its bag), none where
 * it was not there; without a bag afterwards it is deleted. A key that it has before and afterwards is neither gained nor lost; but
 * rows that hold properties of the entity are written with each of its writes, so that their stamp says that they are its
 * own. Of a catalog entry of claims these are the keys that the entity needs to itself.
 */
export function diffRows(
  definition: IndexDefinitionData,
  oldKeys: readonly Key[],
  after: Bag | undefined,
): RowDiff {
  const { keys, misfits } = after === undefined ? NOTHING : deriveEntryRows(definition, after)
  return {
    gained: definition.include === undefined ? without(keys, oldKeys) : keys,
    lost: without(oldKeys, keys),
    isIndexed: keys.length > 0,
    misfits,
  }
}

const NOTHING: DerivedRows = { keys: [], misfits: [] }

function without(keys: readonly Key[], others: readonly Key[]): readonly Key[] {
  if (keys.length === 0 || others.length === 0) return keys
  // Most indexes have one row of an entity: half of what an update takes to find what it changes.
  if (keys.length === 1 && others.length === 1) {
    return isSameKey(keys[0] as Key, others[0] as Key) ? NOTHING.keys : keys
  }
  const identities = new Set(others.map(keyIdentity))
  return keys.filter((key) => !identities.has(keyIdentity(key)))
}
