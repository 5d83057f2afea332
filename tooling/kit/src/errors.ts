import { isLooseleafError, type ErrorCode, type LooseleafError } from '@looseleaf/core'

/** Returns the LooseleafError that `run` throws. Throws if there is none. */
export function errorOf(run: () => unknown): LooseleafError {
  try {
    run()
  } catch (error) {
    if (isLooseleafError(error)) return error
    throw new Error('Only a LooseleafError may be thrown.', { cause: error })
  }
  throw new Error('An error was expected and none was thrown.')
}

/** Returns the code of the LooseleafError that `run` throws. Throws if there is none. */
export function codeOf(run: () => unknown): ErrorCode {
  return errorOf(run).code
}

/** Makes a value that equals every LooseleafError with this code, for `toEqual`. */
export function withCode(code: ErrorCode): { asymmetricMatch(error: unknown): boolean } {
  return { asymmetricMatch: (error) => isLooseleafError(error, code) }
}
