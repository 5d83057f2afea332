import { LooseleafError } from '@looseleaf/core'
import { formatPath } from '@looseleaf/core/internal'

/** An integer beyond 2^53 - 1 has sixteen digits or more. */
const MANY_DIGITS = /\d{16}/

const MIN_BIGINT = -(2n ** 63n)
const MAX_BIGINT = 2n ** 64n - 1n

/**
 * Returns the JSON of a bag with integers beyond 2^53 - 1 tagged as bigints. `JSON.parse` would round them silently. Numbers
 * with a fraction or an exponent stay. The text must be valid for `jsonFormat`. Throws `BAD_PROPERTY` with the path to an
 * integer beyond 64 bits.
 */
export function withExactIntegers(text: string): string {
  if (!MANY_DIGITS.test(text)) return text
  let isChanged = false
  /** The object or array around an integer that is too long, and the path from there to the integer. */
  let holder: unknown
  const path: (string | number)[] = []

  // `JSON.parse` visits inner values first, so the path grows at its front until the holder is the whole bag.
  function extendPath(parent: unknown, step: string | number): void {
    holder = parent
    path.unshift(step)
  }

  // The declaration of JSON.parse lacks the third argument.
  function revive(
    this: unknown,
    name: string,
    value: unknown,
    context?: { readonly source?: string },
  ): unknown {
    const step = Array.isArray(this) ? Number(name) : name
    if (holder !== undefined) {
      if (value === holder) extendPath(this, step)
      return value
    }
    const digits = context?.source ?? ''
    if (typeof value !== 'number' || Number.isSafeInteger(value) || !/^-?\d+$/.test(digits)) return value
    const integer = BigInt(digits)
    if (integer < MIN_BIGINT || integer > MAX_BIGINT) {
      extendPath(this, step)
      return value
    }
    isChanged = true
    return { $bigint: digits }
  }

  const json: unknown = JSON.parse(text, revive)
  if (holder !== undefined) {
    throw new LooseleafError(
      'BAD_PROPERTY',
      // The first step leads to the bag itself.
      `${formatPath(path.slice(1))} cannot be stored: it is an integer beyond 64 bits. Write it as a text, or with an exponent, which makes it a number.`,
    )
  }
  return isChanged ? JSON.stringify(json) : text
}
