import { LooseleafError } from '@looseleaf/core'
import { MAX_VALUES } from '@looseleaf/core/internal'

/** Creates the error of a damaged body. `flaw` never has stored values. */
export function damaged(flaw: string, cause?: unknown): LooseleafError {
  return new LooseleafError('BODY_DAMAGED', `A stored body cannot be decoded: ${flaw}.`, { cause })
}

/** Creates the error of a body that would take too much memory. */
export function tooManyValues(): LooseleafError {
  return new LooseleafError(
    'BODY_TOO_LARGE',
    `A stored body has more than ${MAX_VALUES} values, the limit of a bag, and is not read. It can be replaced or deleted.`,
  )
}
