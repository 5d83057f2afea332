import { isLooseleafError, type LooseleafError } from '@looseleaf/core'

/** The error of a shard as its answer. Throws any other error, and that of a call which was ended. */
export function errorOfShard(error: unknown): LooseleafError {
  if (isLooseleafError(error) && error.code !== 'ABORTED') return error
  throw error
}
