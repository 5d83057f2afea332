import { isLooseleafError } from 'looseleaf'
import { isGone } from './unless-there.ts'

/** Tells whether a write failed because another call has changed or deleted the entity meanwhile. */
export function isOvertaken(error: unknown): boolean {
  return isLooseleafError(error, 'VERSION_MISMATCH') || isGone(error)
}
