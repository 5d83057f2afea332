import { MAX_DEPTH, MAX_VALUES } from '@looseleaf/core'
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
 * Counts the values of a bag in JSON before anything is built of them, and throws `BODY_TOO_LARGE` for more than `MAX_VALUES`,
 * `BODY_DAMAGED` for values nested too deep. All else is for `JSON.parse` to refuse. A tagged value is one.
 */
export function scanJson(bytes: Uint8Array): void {
  // Each value takes two bytes at least, one of them for what stands before or behind it.
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
        // What is at the deepest place may be tagged, which is one object more.
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

/** Whether a value stands behind the bracket, and not its end or the name of a tag, which is one with its object. */
function hasValue(bytes: Uint8Array, bracket: number): boolean {
  let at = bracket + 1
  while ((bytes[at] as number) <= SPACE) at++
  const next = bytes[at]
  if (next === CLOSE_ARRAY || next === CLOSE_OBJECT) return false
  // The name of a property that begins with `$` has one more.
  const isTag = bytes[bracket] === OPEN_OBJECT && next === QUOTE && bytes[at + 1] === DOLLAR
  return !isTag || bytes[at + 2] === DOLLAR
}

function endOfString(bytes: Uint8Array, start: number): number {
  let at = start + 1
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1
  return at
}
