import { isLooseleafError } from 'looseleaf'

/** Waits for an insert under a derived id. An entity that exists already is the same. */
export async function unlessThere(insert: Promise<unknown>): Promise<void> {
  try {
    await insert
  } catch (error) {
    if (!isLooseleafError(error, 'ALREADY_EXISTS')) throw error
  }
}
