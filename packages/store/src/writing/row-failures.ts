import { isLooseleafError, type LooseleafError } from '@looseleaf/core'
import type { RowFailure } from '@looseleaf/protocol/internal'

/** Returns the tables of the rows that the cleaner will write. Throws the first failure that must not be deferred. */
export function deferredTables(failures: readonly RowFailure[], defers: boolean): readonly string[] {
  for (const { error } of failures) {
    // The shard of the index row fails for a while, so that the row may be written later.
    const mayDefer = isLooseleafError(error) && error.retryable
    if (!defers || !mayDefer) throw error
  }
  return [...new Set(failures.map(({ table }) => table))]
}

/**
 * Returns true if the failure of a commit may be that of local rows, its own or those of another write in the same transaction. The next
 * attempt sends its rows by statements of their own, so that each write fails by its own rows only. `spares`: rows that fail are written
 * later, and do not fail their entity.
 */
export function mayBeOfLocalRows(error: unknown, spares: boolean): error is LooseleafError {
  if (!isLooseleafError(error) || error.unknownOutcome) return false
  return error.undone || error.code === 'INDEX_NOT_FOUND' || (spares && error.retryable)
}
