import { LooseleafError } from '@looseleaf/core'

/** The error of a body that is not what a codec has written. `what` names the flaw, never the content. */
export function damaged(what: string, cause?: unknown): LooseleafError {
  return new LooseleafError('BODY_DAMAGED', `A stored body cannot be decoded: ${what}.`, { cause })
}
