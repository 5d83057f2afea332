import { formatId, isLooseleafError, LooseleafError } from '@looseleaf/core'

/** What of a write says whether the same call may be made again. */
interface Repeatable {
  /** The id was made for the call: made again, it would be another one. */
  readonly isFresh?: boolean
  /** What is written goes by what was found: made again, the call would go by its own work. */
  readonly addsUp?: boolean
}

/**
 * Makes the error of a write that may have taken place: of its attempts, by their versions, each with the reason for which it has no
 * answer, and of what has kept the writer from finding out afterwards.
 */
export function unknownOutcome(
  id: Uint8Array,
  attempts: ReadonlyMap<number, { readonly reason: LooseleafError }>,
  { isFresh = false, addsUp = false }: Repeatable,
  cause: unknown,
): LooseleafError {
  const entity = formatId(id)
  const shard = isLooseleafError(cause) ? cause.shard : undefined
  const reasons = new Set([...attempts.values()].map(({ reason }) => reason.message))
  const parts = [
    `Entity ${entity}: it is not known whether version ${[...attempts.keys()].join(', ')} was written.`,
    `The reason: ${[...reasons].join(' ')}`,
  ]
  // Others may hold values.
  if (isLooseleafError(cause)) parts.push(`Nor could it be found out: ${cause.message}`)
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
