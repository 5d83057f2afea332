import { isLooseleafError, type LooseleafError } from '@looseleaf/core'

/** Returns a `LooseleafError` as the answer of a shard. Rethrows all other errors, and `ABORTED`. */
export function errorOfShard(error: unknown): LooseleafError {
  if (isLooseleafError(error) && error.code !== 'ABORTED') return error
  throw error
}
