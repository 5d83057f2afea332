import { isLooseleafError, type LooseleafError } from '@looseleaf/core'

/** Returns the LooseleafError that the action throws; any other outcome fails the test. */
export function errorOf(action: () => unknown): LooseleafError {
  try {
    action()
  } catch (error) {
    if (isLooseleafError(error)) return error
    throw error
  }
  throw new Error('Nothing was thrown.')
}
