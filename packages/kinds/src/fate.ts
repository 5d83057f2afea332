import { isError, type EntityId } from '@looseleaf/core'

/** One of many that could not be done, and why. */
export interface Failure {
  readonly id: EntityId
  readonly error: Error
}

const MAX_FAILURES = 100

/** Takes failures, as many as somebody would read. */
export function addFailure(failures: Failure[], id: EntityId, error: unknown): void {
  if (failures.length < MAX_FAILURES) failures.push({ id, error: toError(error) })
}

export function toError(thrown: unknown): Error {
  return isError(thrown) ? thrown : new Error(String(thrown))
}
