import type { EntityId } from '@looseleaf/core'
import { toError } from '@looseleaf/core/internal'

/** An entity of a call with many that failed, and its error. */
export interface Failure {
  readonly id: EntityId
  readonly error: Error
}

const MAX_FAILURES = 100

/** Adds a failure, up to 100. */
export function addFailure(failures: Failure[], id: EntityId, error: unknown): void {
  if (failures.length < MAX_FAILURES) failures.push({ id, error: toError(error) })
}
