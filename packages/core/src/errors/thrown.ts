import { isError } from '../platform/kind-of-object.ts'

/** Returns a thrown value as an error. */
export function toError(thrown: unknown): Error {
  return isError(thrown) ? thrown : new Error(String(thrown))
}

/** Returns the message of a thrown value, or the value as text. */
export function messageOf(thrown: unknown): string {
  return isError(thrown) ? thrown.message : String(thrown)
}
