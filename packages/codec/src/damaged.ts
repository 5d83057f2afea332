import { LooseleafError, MAX_VALUES } from '@looseleaf/core'

/** The error of a body that is not what a codec has written. `what` names the flaw, never the content. */
export function damaged(what: string, cause?: unknown): LooseleafError {
  return new LooseleafError('BODY_DAMAGED', `A stored body cannot be decoded: ${what}.`, { cause })
}

/** The error of a body that would take too much memory. */
export function tooManyValues(): LooseleafError {
  return new LooseleafError(
    'BODY_TOO_LARGE',
    `A stored body has more than ${MAX_VALUES} values, the limit of a bag, and is not read. It can be replaced or deleted.`,
  )
}
