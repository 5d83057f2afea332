import { isBytes } from './kind-of-object.ts'
import { LooseleafError, describeKind } from './errors.ts'

/** A UUID in its usual text form, lower case: `0192f0c1-7c1e-7abc-8def-0123456789ab`. */
export type EntityId = string

/** Bytes of an id, in the database and on every port. */
export const ID_BYTES = 16

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** True for a UUID string in its usual form, in either case. */
export function isId(text: unknown): text is string {
  return typeof text === 'string' && text.length === 36 && UUID.test(text)
}

const DASH = 0x2d
const NO_DIGIT = 0xff
/** The value of a hexadecimal digit in either case, by its character code. */
const DIGITS: Uint8Array = new Uint8Array(128).fill(NO_DIGIT)
for (let value = 0; value < 16; value++) {
  const digit = value.toString(16)
  DIGITS[digit.charCodeAt(0)] = value
  DIGITS[digit.toUpperCase().charCodeAt(0)] = value
}
/** Where the two digits of each byte stand. */
const PLACES = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34]

/** The 16 bytes of a UUID string. Throws `BAD_ID`. */
export function parseId(text: unknown): Buffer {
  const bytes = idBytes(text)
  if (bytes !== undefined) return bytes
  throw new LooseleafError(
    'BAD_ID',
    `An id has to be a UUID string such as 0192f0c1-7c1e-7abc-8def-0123456789ab (16 bytes); got ${describeKind(text)}.`,
  )
}

/** As `parseId`, undefined for anything else. Digit by digit: a tenth of the time of a regular expression and a conversion. */
export function idBytes(text: unknown): Buffer | undefined {
  if (typeof text !== 'string' || text.length !== 36) return undefined
  if (text.charCodeAt(8) !== DASH || text.charCodeAt(13) !== DASH) return undefined
  if (text.charCodeAt(18) !== DASH || text.charCodeAt(23) !== DASH) return undefined
  const bytes = Buffer.allocUnsafe(ID_BYTES)
  for (let i = 0; i < ID_BYTES; i++) {
    const place = PLACES[i] as number
    const high = DIGITS[text.charCodeAt(place)] ?? NO_DIGIT
    const low = DIGITS[text.charCodeAt(place + 1)] ?? NO_DIGIT
    if ((high | low) > 15) return undefined
    bytes[i] = (high << 4) | low
  }
  return bytes
}

/** The UUID string of 16 bytes, lower case. Throws `BAD_ID` for anything else. */
export function formatId(bytes: Uint8Array): EntityId {
  if (!isBytes(bytes) || bytes.length !== ID_BYTES) {
    throw new LooseleafError('BAD_ID', `An id has to be 16 bytes; got ${describeKind(bytes)}.`)
  }
  for (let i = 0; i < ID_BYTES; i++) {
    const place = PLACES[i] as number
    const byte = bytes[i] as number
    written[place] = HEX[byte >> 4] as number
    written[place + 1] = HEX[byte & 15] as number
  }
  return written.toString('latin1')
}

const HEX = Buffer.from('0123456789abcdef')
/** Written over at each call: this takes a third of the time of putting strings together. */
const written: Buffer = Buffer.alloc(36, '-')

/** A string that stands for the bytes of an id in maps and sets: a character for each. Made as here in a quarter of a buffer's time. */
export function idKey(id: Uint8Array): string {
  return String.fromCharCode(
    id[0]!,
    id[1]!,
    id[2]!,
    id[3]!,
    id[4]!,
    id[5]!,
    id[6]!,
    id[7]!,
    id[8]!,
    id[9]!,
    id[10]!,
    id[11]!,
    id[12]!,
    id[13]!,
    id[14]!,
    id[15]!,
  )
}

/** Each of these ids once, in the order in which they first come. */
export function distinctIds(ids: Iterable<Uint8Array>): Uint8Array[] {
  return [...new Map(Array.from(ids, (id) => [idKey(id), id])).values()]
}
