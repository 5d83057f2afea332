import { LooseleafError } from '@looseleaf/core'

/** Makes the error of an index of a kind that is not valid. */
export function badIndex(message: string): LooseleafError {
  return new LooseleafError('BAD_INDEX', message)
}
