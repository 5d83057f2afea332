import { isLooseleafError } from '@looseleaf/core'

/** Returns the code of the LooseleafError that `run` throws. Throws if there is none. */
export function codeOf(run: () => unknown): string {
  try {
    run()
  } catch (error) {
    if (isLooseleafError(error)) return error.code
    throw new Error('Only a LooseleafError may be thrown.', { cause: error })
  }
  throw new Error('An error was expected and none was thrown.')
}
