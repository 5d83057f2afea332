import { LooseleafError } from './errors.ts'

/** Whether a write can have given this version to an entity. */
export function isVersion(version: number): boolean {
  return Number.isSafeInteger(version) && version > 0
}

/**
 * Throws `BODY_DAMAGED` for a stored version that no write has given, such as 0, which otherwise stands for no entity: the
 * row would be taken for nothing, and could never be replaced.
 */
export function requireVersion(version: number): void {
  if (isVersion(version)) return
  throw new LooseleafError(
    'BODY_DAMAGED',
    `Its row has version ${version}, which no write has given it. Set that to 1 by hand, and clean the indexes.`,
  )
}
