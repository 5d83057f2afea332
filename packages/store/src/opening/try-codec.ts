import type { Codec } from '@looseleaf/core'
import { badOption, describeKind, isBytes, isPlainObject } from '@looseleaf/core/internal'

/**
 * Throws `BAD_OPTION` if a codec encodes an empty bag to something else than bytes, or decodes these to something else than the bag: a mistake there
 * would lose every entity that is written. A codec that throws for an empty bag passes, because its own errors tell more when it is used.
 */
export function tryCodec(codec: Codec): void {
  const body = resultOf(() => codec.encode({}))
  if (body === THREW) return
  if (!isBytes(body) || body.length === 0)
    throw badOption(
      `The codec's encode has to return a Uint8Array with at least one byte; for an empty bag it returned ${isBytes(body) ? 'none' : describeKind(body)}.`,
    )
  const bag = resultOf(() => codec.decode(body))
  if (bag === THREW) return
  if (!isPlainObject(bag) || Object.keys(bag).length > 0)
    throw badOption(
      `The codec's decode has to return the bag that was encoded; for an empty bag it returned ${describeKind(bag)}${isPlainObject(bag) ? ' with properties' : ''}.`,
    )
}

const THREW = Symbol('threw')

function resultOf(call: () => unknown): unknown {
  try {
    return call()
  } catch {
    return THREW
  }
}
