import { isLooseleafError, type LooseleafError } from '@looseleaf/core'
import type { BatchOutcome, EntitySwap } from '@looseleaf/core/internal'

/**
 * A write of an entity, with the epoch of the catalog from which its index rows were derived, and by which its `local` rows are on its own
 * shard alone. `base` is 0 for an insert.
 */
export type Commit = EntitySwap & { readonly epoch: number }

/** Sends the write of one entity. Calls may share statements. */
export interface EntityWrites {
  insert(row: Commit): Promise<unknown>
  /** Returns whether it replaced the base. */
  replace(row: Commit): Promise<boolean>
}

/**
 * - `won`: the entity is at this version.
 * - `superseded`: another write came first.
 * - `stale`: the shard has another epoch.
 * - `unsettled`: there is no answer. The write may have happened, or may still happen.
 *
 * After `superseded` and `stale` the entity was not written by this attempt, and never will be.
 */
export type CommitOutcome = 'won' | 'superseded' | 'unsettled' | 'stale'

/**
 * Law 2: writes the entity only if it still has the version that was read, the base. The new version is unique to the attempt and greater
 * than the base (`clock.next`). A writer that has not won reads again and takes a new version; it does not undo its index rows.
 *
 * `local` rows share the transaction of the entity, so laws 1 and 3 hold for them by themselves: rows stand before the entity and deletes
 * behind it, and neither is seen without it.
 *
 * `onUnsettled` gets the error of an unsettled write. Other errors are thrown; the entity was not written then. `DUPLICATE_KEY` means that
 * another entity has a local claim.
 */
export async function commit(
  row: Commit,
  { insert, replace }: EntityWrites,
  onUnsettled?: (reason: LooseleafError) => void,
): Promise<CommitOutcome> {
  try {
    if (row.base === 0) await insert(row)
    else if (!(await replace(row))) return 'superseded'
    return 'won'
  } catch (error) {
    if (isLooseleafError(error, 'ALREADY_EXISTS')) return 'superseded'
    return uncommitted(error, onUnsettled)
  }
}

/** Law 2 for a batch: `writeAll` compares every entity with its base. `onLost` gets the places of the entities that others wrote first. */
export async function commitAll(
  write: () => Promise<BatchOutcome>,
  onLost: (places: readonly number[]) => void,
  onUnsettled: (reason: LooseleafError) => void,
): Promise<CommitOutcome> {
  try {
    const outcome = await write()
    if (outcome === 'written') return 'won'
    onLost(outcome.lost)
    return 'superseded'
  } catch (error) {
    return uncommitted(error, onUnsettled)
  }
}

/** Returns the outcome of a commit by its error. Throws other errors. */
function uncommitted(
  error: unknown,
  onUnsettled: ((reason: LooseleafError) => void) | undefined,
): 'stale' | 'unsettled' {
  if (isLooseleafError(error, 'STALE_EPOCH')) return 'stale'
  if (isLooseleafError(error) && error.unknownOutcome) {
    onUnsettled?.(error)
    return 'unsettled'
  }
  throw error
}
