import { isLooseleafError } from '@looseleaf/core'

/** Returns the error that a function throws. Throws if there is none. */
export function errorOf(run: () => unknown): unknown {
  try {
    run()
  } catch (error) {
    return error
  }
  throw new Error('An error was expected and none was thrown.')
}

/** Returns the code of the error that a function throws. Throws if there is none, or if it is not a LooseleafError. */
export function codeOf(run: () => unknown): string {
  const error = errorOf(run)
  if (isLooseleafError(error)) return error.code
  throw new Error('Only a LooseleafError may be thrown.', { cause: error })
}
