import { isLooseleafError, type LooseleafError } from '@looseleaf/core'

/** The LooseleafError that the action throws; anything else fails the test. */
export function errorOf(action: () => unknown): LooseleafError {
  try {
    action()
  } catch (error) {
    if (isLooseleafError(error)) return error
    throw error
  }
  throw new Error('Nothing was thrown.')
}
