import { constants, deflateSync, inflateSync } from 'node:zlib'
import {
  checkBag,
  copyBag,
  describeKind,
  isLooseleafError,
  LooseleafError,
  type Bag,
  type Codec,
} from '@looseleaf/core'
import type { BodyFormat } from './body-format.ts'
import { checksum } from './checksum.ts'
import { damaged } from './damaged.ts'
import { jsonFormat } from './json-format.ts'
import { msgpackFormat } from './msgpack-format.ts'
import { writeMsgpack } from './msgpack-write.ts'

export interface EnvelopeCodecOptions {
  /** How bags are written. Default: `msgpackFormat`. */
  readonly format?: BodyFormat | undefined
  /** What is read besides `format`, told apart by the id in each body. Default: the built-in formats. */
  readonly alsoReads?: readonly BodyFormat[] | undefined
  /** Compression of what is written; either is always read. Default: `'zlib'`. */
  readonly compression?: 'zlib' | 'none' | undefined
  /**
   * Bodies of fewer bytes are not tried: below about this size zlib takes ten times as long as the encoding itself to
   * save less than two fifths. A body that does not become smaller is stored as it is in any case. Default: 1,024.
   */
  readonly minCompressBytes?: number | undefined
  /** zlib's level, 1 (fast) to 9 (small). Default: 6. */
  readonly level?: number | undefined
  /** The most bytes of a body, both as encoded and as stored. Default: 8 MiB; at most 1 GiB. */
  readonly maxBodyBytes?: number | undefined
}

/** Format, flags, raw length (4 bytes, big endian), CRC-32 (4 bytes, big endian); the payload follows. */
const HEADER_BYTES = 10
/** The header's bytes before the checksum, which it covers together with the payload. */
const SUMMED_HEADER_BYTES = 6
const FLAG_ZLIB = 1

const DEFAULT_MAX_BODY_BYTES = 8 * 1024 * 1024
const BUILT_IN: readonly BodyFormat[] = [msgpackFormat, jsonFormat]

/**
 * The codec of Looseleaf's stored bodies: a format's bytes, compressed where that pays, in an envelope that says what it
 * holds and whether it is whole. Formats and compressions may be mixed within a table.
 *
 * `encode` throws `BAD_PROPERTY` and `BODY_TOO_LARGE`; `decode` throws `BODY_DAMAGED` when anything is not as it was written,
 * `BODY_UNKNOWN` for a whole body in a format that is not among those it reads, or that a format of one's own does not accept, and `BODY_TOO_LARGE` for a whole body that says
 * it is larger than `maxBodyBytes` or has more than `MAX_VALUES` values, before any memory is taken for them. Options that make
 * no sense throw `BAD_OPTION`.
 */
export function envelopeCodec(options: EnvelopeCodecOptions = {}): Codec {
  checkNames(options)
  const { format = msgpackFormat, alsoReads = BUILT_IN, compression = 'zlib' } = options
  const minCompressBytes = checkInteger('minCompressBytes', options.minCompressBytes ?? 1024, 0, 2 ** 31)
  const level = checkInteger(
    'level',
    options.level ?? 6,
    constants.Z_BEST_SPEED,
    constants.Z_BEST_COMPRESSION,
  )
  const maxBodyBytes = checkInteger(
    'maxBodyBytes',
    options.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES,
    1,
    2 ** 30,
  )
  if (compression !== 'zlib' && compression !== 'none') {
    throw new LooseleafError('BAD_OPTION', "A codec's compression has to be 'zlib' or 'none'.")
  }
  checkFormat('format', format)
  if (!Array.isArray(alsoReads)) {
    throw new LooseleafError(
      'BAD_OPTION',
      `A codec's alsoReads has to be a list of formats; got ${describeKind(alsoReads)}.`,
    )
  }
  // By `for`, which does not skip holes.
  for (const other of alsoReads) checkFormat('alsoReads', other)
  const formats = formatsById([format, ...alsoReads])

  function encode(bag: Bag): Uint8Array {
    const properties = copyBag(bag)
    // The usual format leaves room for the header, which saves a copy.
    const plain =
      format === msgpackFormat
        ? writeMsgpack(properties, HEADER_BYTES)
        : behindHeader(runEncode(format, properties))
    const rawLength = plain.length - HEADER_BYTES
    if (rawLength > maxBodyBytes) throw tooLarge(rawLength, maxBodyBytes)
    let body = plain
    let flags = 0
    if (compression === 'zlib' && rawLength >= minCompressBytes) {
      const packed = deflateSync(plain.subarray(HEADER_BYTES), { level })
      if (packed.length < rawLength) {
        body = behindHeader(packed)
        flags = FLAG_ZLIB
      }
    }
    body[0] = format.id
    body[1] = flags
    body.writeUInt32BE(rawLength, 2)
    const sum = checksum(body, SUMMED_HEADER_BYTES, body.subarray(HEADER_BYTES))
    body.writeUInt32BE(sum, SUMMED_HEADER_BYTES)
    return body
  }

  function decode(stored: Uint8Array): Bag {
    if (!(stored instanceof Uint8Array)) throw damaged(`it has to be bytes; got ${describeKind(stored)}`)
    const body = Buffer.isBuffer(stored)
      ? stored
      : Buffer.from(stored.buffer, stored.byteOffset, stored.byteLength)
    if (body.length < HEADER_BYTES) throw damaged('it is shorter than its header')
    const payload = body.subarray(HEADER_BYTES)
    if (body.readUInt32BE(SUMMED_HEADER_BYTES) !== checksum(body, SUMMED_HEADER_BYTES, payload)) {
      throw damaged('its checksum does not hold, or it was written by something else')
    }
    const id = body[0] as number
    const flags = body[1] as number
    const found = formats.get(id)
    if (found === undefined || (flags & ~FLAG_ZLIB) !== 0) throw unknownBody(id, flags, formats)
    const rawLength = body.readUInt32BE(2)
    if (rawLength > maxBodyBytes) throw tooLarge(rawLength, maxBodyBytes)
    const raw = (flags & FLAG_ZLIB) === 0 ? payload : inflate(payload, rawLength)
    if (raw.length !== rawLength) throw damaged('its length is not the one that its header tells')
    return runDecode(found, raw)
  }

  /** A header that tells of more than is ever decoded takes no memory, whatever it says. */
  function decodedBytes(stored: Uint8Array): number {
    if (stored.length < HEADER_BYTES) return stored.length
    let rawLength = 0
    for (let i = 2; i < SUMMED_HEADER_BYTES; i++) rawLength = rawLength * 256 + (stored[i] as number)
    return rawLength > maxBodyBytes ? stored.length : Math.max(stored.length, rawLength)
  }

  const name = compression === 'none' ? format.name : `${format.name}+${compression}`
  return { name, encode, decode, decodedBytes }
}

/** MessagePack, compressed by zlib where that pays: the default. */
export function msgpackZlibCodec(): Codec {
  return envelopeCodec()
}

/** JSON, compressed by zlib where that pays. */
export function jsonZlibCodec(): Codec {
  return envelopeCodec({ format: jsonFormat })
}

/** JSON that is never compressed: from the eleventh byte on, a body can be read by eye and by the database's JSON functions. */
export function jsonCodec(): Codec {
  return envelopeCodec({ format: jsonFormat, compression: 'none' })
}

function behindHeader(payload: Uint8Array): Buffer {
  const body = Buffer.allocUnsafe(HEADER_BYTES + payload.length)
  body.set(payload, HEADER_BYTES)
  return body
}

/** Never takes more memory than the header announced, whatever the stream would grow to. */
function inflate(payload: Buffer, rawLength: number): Buffer {
  let result: { buffer: Buffer; engine: { bytesWritten: number } }
  try {
    // With `info` Node answers with an object, of which its type declaration does not know.
    result = inflateSync(payload, {
      maxOutputLength: Math.max(1, rawLength),
      info: true,
    }) as unknown as typeof result
  } catch (cause) {
    throw damaged('its compressed bytes cannot be expanded to the length that its header tells', cause)
  }
  if (result.engine.bytesWritten !== payload.length) throw damaged('bytes follow its compressed part')
  return result.buffer
}

function runEncode(format: BodyFormat, bag: Bag): Uint8Array {
  let raw: Uint8Array
  try {
    raw = format.encode(bag)
  } catch (cause) {
    if (isLooseleafError(cause)) throw cause
    throw new LooseleafError('BAD_PROPERTY', `The format ${format.name} cannot encode this bag.`, { cause })
  }
  if (raw instanceof Uint8Array) return raw
  throw new LooseleafError(
    'BAD_OPTION',
    `The format ${format.name} has to encode a bag to bytes; it gave ${describeKind(raw)}.`,
  )
}

/** What a format may say of a body by itself. */
const OF_BODIES = ['BODY_DAMAGED', 'BODY_UNKNOWN', 'BODY_TOO_LARGE'] as const

function runDecode(format: BodyFormat, raw: Uint8Array): Bag {
  try {
    const bag = format.decode(raw)
    // The readers of the built-in formats are as strict as this by themselves.
    if (!BUILT_IN.includes(format)) checkBag(bag)
    return bag
  } catch (cause) {
    if (OF_BODIES.some((code) => isLooseleafError(cause, code))) throw cause
    if (BUILT_IN.includes(format)) throw damaged(`the format ${format.name} does not accept it`, cause)
    // Its checksum holds, so it is what somebody has written: with another key, perhaps, or a later revision of the format.
    throw new LooseleafError(
      'BODY_UNKNOWN',
      `A stored body is whole, but the format ${format.name} of this process does not accept it; that of another process may.`,
      { cause },
    )
  }
}

const OPTION_NAMES = ['format', 'alsoReads', 'compression', 'minCompressBytes', 'level', 'maxBodyBytes']

/** An option that does not exist is mostly one that was misspelt. */
function checkNames(options: unknown): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new LooseleafError(
      'BAD_OPTION',
      `A codec takes its options as an object; got ${describeKind(options)}.`,
    )
  }
  const unknown = Object.keys(options).find((name) => !OPTION_NAMES.includes(name))
  if (unknown === undefined) return
  throw new LooseleafError(
    'BAD_OPTION',
    `A codec has no option ${JSON.stringify(unknown.slice(0, 40))}; there are ${OPTION_NAMES.join(', ')}.`,
  )
}

/** All but the id, which is checked together with those of the others. */
function checkFormat(option: 'format' | 'alsoReads', format: unknown): void {
  if (typeof format !== 'object' || format === null) {
    throw new LooseleafError(
      'BAD_OPTION',
      `A codec's ${option} takes formats such as jsonFormat; got ${describeKind(format)}.`,
    )
  }
  const { name, encode, decode } = format as Partial<Record<keyof BodyFormat, unknown>>
  if (typeof name !== 'string' || name === '') {
    throw new LooseleafError(
      'BAD_OPTION',
      `A format of a codec's ${option} has to have a name; got ${describeKind(name)}.`,
    )
  }
  for (const [method, value] of Object.entries({ encode, decode })) {
    if (typeof value === 'function') continue
    throw new LooseleafError(
      'BAD_OPTION',
      `The format ${name} of a codec has to have a function ${method}; got ${describeKind(value)}.`,
    )
  }
}

function formatsById(all: readonly BodyFormat[]): ReadonlyMap<number, BodyFormat> {
  const formats = new Map<number, BodyFormat>()
  for (const format of all) {
    checkInteger(`id of the format ${format.name}`, format.id, 1, 31)
    const other = formats.get(format.id)
    if (other !== undefined && other !== format) {
      throw new LooseleafError(
        'BAD_OPTION',
        `The formats ${other.name} and ${format.name} of a codec have the same id, ${format.id}; ids 1 to 15 are Looseleaf's own, 16 to 31 are free.`,
      )
    }
    formats.set(format.id, format)
  }
  return formats
}

function checkInteger(what: string, value: number, min: number, max: number): number {
  if (Number.isInteger(value) && value >= min && value <= max) return value
  const came = typeof value === 'number' ? String(value) : describeKind(value)
  throw new LooseleafError(
    'BAD_OPTION',
    `A codec's ${what} has to be an integer from ${min} to ${max}; got ${came}.`,
  )
}

function unknownBody(id: number, flags: number, formats: ReadonlyMap<number, BodyFormat>): LooseleafError {
  const builtIn = BUILT_IN.find((format) => format.id === id)
  const which = builtIn === undefined ? String(id) : `${id} (${builtIn.name})`
  const known = [...formats.values()].map((format) => `${format.name} (${format.id})`).join(', ')
  return new LooseleafError(
    'BODY_UNKNOWN',
    `A stored body is whole, but has format ${which} with flags ${flags}; this codec reads ${known} with flags 0 or ${FLAG_ZLIB}. Add the format to \`alsoReads\`, or update this process.`,
  )
}

function tooLarge(bytes: number, maxBodyBytes: number): LooseleafError {
  return new LooseleafError(
    'BODY_TOO_LARGE',
    `A body of ${bytes} bytes is above the codec's limit of ${maxBodyBytes} bytes (maxBodyBytes).`,
  )
}
