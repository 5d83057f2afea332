import { formatId, isLooseleafError, LooseleafError } from '@looseleaf/core'
import type { EntityWriteOptions } from './entity-writer.ts'

/**
 * Makes the error of a write that may have taken place. The message has the versions of the attempts without an answer, the reasons
 * why there is none, and the error that kept the writer from finding out (`cause`).
 */
export function unknownOutcome(
  id: Uint8Array,
  attempts: ReadonlyMap<number, { readonly reason: LooseleafError }>,
  { isFresh = false, addsUp = false }: Pick<EntityWriteOptions, 'isFresh' | 'addsUp'>,
  cause: unknown,
): LooseleafError {
  const entity = formatId(id)
  const shard = isLooseleafError(cause) ? cause.shard : undefined
  const reasons = new Set([...attempts.values()].map(({ reason }) => reason.message))
  const parts = [
    `Entity ${entity}: it is not known whether version ${[...attempts.keys()].join(', ')} was written.`,
    `The reason: ${[...reasons].join(' ')}`,
  ]
  // Messages of other errors may hold values.
  if (isLooseleafError(cause)) parts.push(`The outcome could not be found out: ${cause.message}`)
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
