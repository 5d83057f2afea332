import { isLooseleafError } from 'looseleaf'

/** Tells whether an insert failed because its id is taken. */
export function isThere(error: unknown): boolean {
  return isLooseleafError(error, 'ALREADY_EXISTS')
}

/** Tells whether a write failed because its entity does not exist, for example because another call has deleted it. */
export function isGone(error: unknown): boolean {
  return isLooseleafError(error, 'NOT_FOUND')
}

/** Waits for an insert under a derived id. An entity that exists already is the same. */
export async function unlessThere(insert: Promise<unknown>): Promise<void> {
  try {
    await insert
  } catch (error) {
    if (!isThere(error)) throw error
  }
}

/** Waits for a change of an entity. Resolves also if another call has deleted the entity meanwhile. */
export async function unlessGone(change: Promise<unknown>): Promise<void> {
  try {
    await change
  } catch (error) {
    if (!isGone(error)) throw error
  }
}
