import { isLooseleafError, type LooseleafError } from '../src/errors/errors.ts'

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
