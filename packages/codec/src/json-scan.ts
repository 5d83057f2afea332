import { MAX_DEPTH, MAX_VALUES } from '@looseleaf/core/internal'
import { damaged, tooManyValues } from './damaged.ts'

const SPACE = 0x20
const QUOTE = 0x22
const DOLLAR = 0x24
const COMMA = 0x2c
const BACKSLASH = 0x5c
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/**
 * Counts the values of a bag in JSON before `JSON.parse` builds them. Throws `BODY_TOO_LARGE` for more than `MAX_VALUES`, and
 * `BODY_DAMAGED` for values nested too deep. A tagged value counts as one. `JSON.parse` checks the syntax.
 */
export function scanJson(bytes: Uint8Array): void {
  // Each value takes at least two bytes: itself and a bracket, comma or colon.
  if (bytes.length <= 2 * MAX_VALUES) return
  let values = 0
  let depth = 0
  for (let at = 0; at < bytes.length; at++) {
    switch (bytes[at]) {
      case QUOTE:
        at = endOfString(bytes, at)
        break
      case OPEN_ARRAY:
      case OPEN_OBJECT:
        // A value at the deepest level may be tagged, which adds an object.
        if (++depth > MAX_DEPTH + 1) throw damaged(`it is nested more than ${MAX_DEPTH} deep`)
        if (hasValue(bytes, at) && ++values > MAX_VALUES) throw tooManyValues()
        break
      case CLOSE_ARRAY:
      case CLOSE_OBJECT:
        depth--
        break
      case COMMA:
        if (++values > MAX_VALUES) throw tooManyValues()
        break
      default:
    }
  }
}

/** Tells whether a value follows the bracket, rather than its end or the name of a tag. */
function hasValue(bytes: Uint8Array, bracket: number): boolean {
  let at = bracket + 1
  while ((bytes[at] as number) <= SPACE) at++
  const next = bytes[at]
  if (next === CLOSE_ARRAY || next === CLOSE_OBJECT) return false
  // A property name that begins with `$` has a second one.
  const isTag = bytes[bracket] === OPEN_OBJECT && next === QUOTE && bytes[at + 1] === DOLLAR
  return !isTag || bytes[at + 2] === DOLLAR
}

function endOfString(bytes: Uint8Array, start: number): number {
  let at = start + 1
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1
  return at
}
