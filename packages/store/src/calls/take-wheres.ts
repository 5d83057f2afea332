import { LooseleafError } from '@looseleaf/core'
import { badArgument } from '@looseleaf/core/internal'

const MAX_WHERES = 1_000

/** Copies the conditions of a call that takes many. Throws `BAD_OPTION`. The query checks each `where` later. */
export function takeWheres(call: string, wheres: unknown): readonly object[] {
  if (!Array.isArray(wheres)) throw badArgument(call, 'an array of conditions', wheres)
  if (wheres.length > MAX_WHERES) {
    throw new LooseleafError(
      'BAD_OPTION',
      `${call} takes ${MAX_WHERES} conditions at the most; got ${wheres.length}.`,
    )
  }
  return Array.from(wheres as object[])
}
