import { isLooseleafError, type LooseleafError } from '@looseleaf/core'
import type { RowFailure } from '@looseleaf/protocol/internal'

/** Returns the tables of the rows that the cleaner will write. Throws the first failure that must not be deferred. */
export function deferredTables(failures: readonly RowFailure[], defers: boolean): readonly string[] {
  for (const { error } of failures) if (!defers || !mayDefer(error)) throw error
  return [...new Set(failures.map(({ table }) => table))]
}

/**
 * Returns true if the failure of a commit may be that of its local rows, and if they are treated otherwise when they fail by themselves:
 * rows in the table of a dropped index are not needed, and others may be deferred.
 */
export function mayBeOfLocalRows(error: unknown, defers: boolean): error is LooseleafError {
  if (!isLooseleafError(error) || error.unknownOutcome) return false
  return error.code === 'INDEX_NOT_FOUND' || (defers && error.retryable)
}

/** Returns true if the shard of the index row fails for a while, so that the row may be written later. */
function mayDefer(error: unknown): boolean {
  return isLooseleafError(error) && error.retryable
}
