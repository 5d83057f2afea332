import type { Bag, IndexDefinitionData } from '@looseleaf/core'
import type { Key } from '@looseleaf/core/internal'
import { deriveEntryRows, NO_KEYS, type Misfit } from './derive-rows.ts'
import { isSameKey, keyIdentity } from './key-identity.ts'

export interface RowDiff {
  /** All keys of the entity after the write. */
  readonly keys: readonly Key[]
  /** Keys to upsert before the commit. In a covering index: all keys of the entity. */
  readonly gained: readonly Key[]
  /** Keys to delete after the commit, where their stamp is lower than the new version. */
  readonly lost: readonly Key[]
  /** Whether the entity has a row in the index after the write. */
  readonly isIndexed: boolean
  readonly misfits: readonly Misfit[]
}

/**
 * Compares the rows of an entity in one index before and after a write. `oldKeys` come from `deriveEntryRows` of the old bag, and are
 * empty for a new entity. `after` is undefined for a delete.
 *
 * A key that stays is neither gained nor lost, except in a covering index: every write rewrites its rows, because the stamp of a row
 * tells whether its included properties are current. For a catalog entry of claims, keys are the entity's claims.
 */
export function diffRows(
  definition: IndexDefinitionData,
  oldKeys: readonly Key[],
  after: Bag | undefined,
): RowDiff {
  const { keys, misfits } = after === undefined ? NO_KEYS : deriveEntryRows(definition, after)
  return {
    keys,
    gained: definition.include === undefined ? without(keys, oldKeys) : keys,
    lost: without(oldKeys, keys),
    isIndexed: keys.length > 0,
    misfits,
  }
}

function without(keys: readonly Key[], others: readonly Key[]): readonly Key[] {
  if (keys.length === 0 || others.length === 0) return keys
  // A shortcut for the usual case, one row per entity. It halves the time in which an update finds its changes.
  if (keys.length === 1 && others.length === 1) {
    return isSameKey(keys[0] as Key, others[0] as Key) ? NO_KEYS.keys : keys
  }
  const identities = new Set(others.map(keyIdentity))
  return keys.filter((key) => !identities.has(keyIdentity(key)))
}
