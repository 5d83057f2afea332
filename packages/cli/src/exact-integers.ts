import { formatPath, LooseleafError } from '@looseleaf/core'

/** An integer beyond 2^53 - 1 has sixteen digits or more. */
const MANY_DIGITS = /\d{16}/

const MIN_BIGINT = -(2n ** 63n)
const MAX_BIGINT = 2n ** 64n - 1n

/**
 * The JSON of a bag, where integers in plain digits beyond 2^53 - 1, which `JSON.parse` would round in silence, are tagged as
 * bigints. The text has to be one that `jsonFormat` reads. Throws `BAD_PROPERTY` with the path to an integer beyond 64 bits.
 */
export function withExactIntegers(text: string): string {
  if (!MANY_DIGITS.test(text)) return text
  let isChanged = false
  /** The object or array that holds an integer which is too long, and the path from it, growing towards the whole. */
  let holder: unknown
  const path: (string | number)[] = []

  function goOutwards(around: unknown, step: string | number): void {
    holder = around
    path.unshift(step)
  }

  // The third argument is what the declaration of JSON.parse does not know yet.
  function revive(
    this: unknown,
    name: string,
    value: unknown,
    context?: { readonly source?: string },
  ): unknown {
    const step = Array.isArray(this) ? Number(name) : name
    if (holder !== undefined) {
      if (value === holder) goOutwards(this, step)
      return value
    }
    const digits = context?.source ?? ''
    if (typeof value !== 'number' || Number.isSafeInteger(value) || !/^-?\d+$/.test(digits)) return value
    const integer = BigInt(digits)
    if (integer < MIN_BIGINT || integer > MAX_BIGINT) {
      goOutwards(this, step)
      return value
    }
    isChanged = true
    return { $bigint: digits }
  }

  const json: unknown = JSON.parse(text, revive)
  if (holder !== undefined) {
    throw new LooseleafError(
      'BAD_PROPERTY',
      // The first step is the one to the whole.
      `${formatPath(path.slice(1))} cannot be stored: it is an integer beyond 64 bits. Write it as a text, or with an exponent, which makes it a number.`,
    )
  }
  return isChanged ? JSON.stringify(json) : text
}
