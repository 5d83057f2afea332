import { isError, type EntityId } from '@looseleaf/core'

/** The fate of one of many: they do not keep each other. */
export type Fate<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: Error }

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
