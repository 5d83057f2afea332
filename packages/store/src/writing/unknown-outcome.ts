import { formatId, isLooseleafError, LooseleafError } from '@looseleaf/core'

/** What of a write says whether the same call may be made again. */
interface Repeatable {
  /** The id was made for the call: made again, it would be another one. */
  readonly isFresh?: boolean
  /** What is written goes by what was found: made again, the call would go by its own work. */
  readonly addsUp?: boolean
}

/** The error of a write of which nobody knows whether it took place, after attempts with these versions. */
export function unknownOutcome(
  id: Uint8Array,
  versions: Iterable<number>,
  { isFresh = false, addsUp = false }: Repeatable,
  cause: unknown,
): LooseleafError {
  const entity = formatId(id)
  const shard = isLooseleafError(cause) ? cause.shard : undefined
  const parts = [
    `Entity ${entity}: the connection was lost during the write of version ${[...versions].join(', ')}; whether it happened cannot be told.`,
  ]
  if (isFresh)
    parts.push('The id was made for this call: try again with this id, or there may be two entities.')
  if (addsUp) parts.push('Read the entity before you try again: it may have been changed already.')
  return new LooseleafError('OUTCOME_UNKNOWN', parts.join(' '), {
    entity,
    shard,
    retryable: !isFresh && !addsUp,
    cause,
  })
}
