import { deflateRawSync, deflateSync, inflateRawSync, inflateSync, type ZlibOptions } from 'node:zlib'
import {
  checkBag,
  copyBag,
  isLooseleafError,
  LooseleafError,
  type Bag,
  type Codec,
  type PropertyValue,
  type StoreCodec,
} from '@looseleaf/core'
import {
  asBuffer,
  badOption,
  describeKind,
  isBytes,
  isUndecodable,
  KIND_PROPERTY,
  type BodyDescription,
} from '@looseleaf/core/internal'
import type { BodyFormat } from './body-format.ts'
import { checksum } from './checksum.ts'
import { damaged } from './damaged.ts'
import {
  BUILT_IN,
  checkEnvelopeOptions,
  type EnvelopeCodecOptions,
  type EnvelopeSettings,
} from './envelope-options.ts'
import { jsonFormat } from './json-format.ts'
import {
  createKnownCodecEntries,
  idOf,
  type KnownCodecEntries,
  type KnownDictionary,
} from './known-codec-entries.ts'
import { msgpackFormat } from './msgpack-format.ts'
import { kindInBag, kindInValues } from './msgpack-kind.ts'
import { packMsgpack } from './msgpack-pack.ts'
import { readShaped } from './msgpack-read.ts'
import { ID_BYTES, type Shape } from './shape.ts'

/** Bytes of the header: format, flags, raw length (4 bytes, big endian), CRC-32 (4 bytes, big endian). The payload follows. */
const HEADER_BYTES = 10
/** Bytes of the header before the checksum, which covers them and the payload. */
const SUMMED_HEADER_BYTES = 6
const FLAG_ZLIB = 1
/** Raw deflate by a dictionary, whose id precedes the data. */
const FLAG_DICTIONARY = 2
/** MessagePack of the values without their names. The id of their shape precedes the data. */
const SHAPED_FORMAT = 3
/** zlib skips smaller bodies: for them it takes ten times as long as the encoding, and saves less than two fifths. */
const MIN_COMPRESS_BYTES = 1024
/** A dictionary saves hardly anything in smaller bodies. */
const MIN_DICTIONARY_BYTES = 64

/**
 * Creates the codec of Looseleaf's stored bodies: the bytes of a format, compressed if that makes them smaller, in an envelope with
 * their format, length and checksum. A table may mix formats and compressions.
 *
 * `encode` throws `BAD_PROPERTY` and `BODY_TOO_LARGE`. `decode` throws
 * - `BODY_DAMAGED` for a body that differs from every encoded one;
 * - `BODY_UNKNOWN` for an intact body whose format it does not read, that a format of yours does not accept, or that refers to a missing
 *   codec entry;
 * - `BODY_TOO_LARGE` for an intact body of more than `maxBodyBytes` or `MAX_VALUES`, before it allocates memory for more.
 *
 * Throws `BAD_OPTION` for options that are not valid.
 */
export function envelopeCodec(options: EnvelopeCodecOptions = {}): Codec {
  return tunedEnvelopeCodec(options, MIN_COMPRESS_BYTES)
}

/** As `envelopeCodec`, with another smallest body for zlib, for tests. */
export function tunedEnvelopeCodec(options: EnvelopeCodecOptions, minCompressBytes: number): Codec {
  const settings = { ...checkEnvelopeOptions(options), minCompressBytes }
  const forStore = (): StoreCodec => {
    const codecEntries = createKnownCodecEntries({
      ...settings,
      references,
      pack: (bag, values) => pack(settings.format, bag, values),
    })
    const { kindOf, ...codec } = createCodec(settings, codecEntries)
    return hidden({ ...codec, codecEntries }, { kindOf })
  }
  const { kindOf, ...codec } = createCodec(settings, undefined)
  return hidden(codec, { kindOf, forStore })
}

/**
 * Adds methods that are not enumerable. Otherwise a codec made by spreading this one, such as to encrypt, would have a `forStore` that bypasses its
 * `encode`, and a `kindOf` that bypasses its `decode`.
 */
function hidden<Plain extends Codec>(
  codec: Plain,
  methods: Pick<Codec, 'kindOf' | 'forStore'>,
): Plain & Codec {
  for (const [name, value] of Object.entries(methods)) Object.defineProperty(codec, name, { value })
  return codec
}

interface CodecSettings extends EnvelopeSettings {
  readonly minCompressBytes: number
}

function createCodec(
  settings: CodecSettings,
  known: KnownCodecEntries | undefined,
): Codec & Pick<Required<Codec>, 'kindOf'> {
  const { format, formats, compression, minCompressBytes, maxBodyBytes } = settings

  function encode(bag: Bag): Uint8Array {
    const properties = copyBag(bag)
    const shaped = known?.shapedBy(properties)
    const raw = pack(format, properties, shaped?.values)
    if (raw.length > maxBodyBytes) throw tooLarge(raw.length, maxBodyBytes)
    const [data, flags, dictionary] = compress(raw)
    let start = HEADER_BYTES
    if (shaped !== undefined) start += ID_BYTES
    if (dictionary !== undefined) start += ID_BYTES
    const body = Buffer.allocUnsafe(start + data.length)
    body.set(data, start)
    if (dictionary !== undefined) body.writeUIntBE(dictionary.number, start - ID_BYTES, ID_BYTES)
    if (shaped !== undefined) body.writeUIntBE(shaped.shape.number, HEADER_BYTES, ID_BYTES)
    body[0] = shaped === undefined ? format.id : SHAPED_FORMAT
    body[1] = flags
    body.writeUInt32BE(raw.length, 2)
    const sum = checksum(body, SUMMED_HEADER_BYTES, body.subarray(HEADER_BYTES))
    body.writeUInt32BE(sum, SUMMED_HEADER_BYTES)
    return body
  }

  /** Compresses the bytes if that makes them smaller, at zlib's default level. */
  function compress(raw: Uint8Array): readonly [data: Uint8Array, flags: number, by?: KnownDictionary] {
    const dictionary = raw.length < MIN_DICTIONARY_BYTES ? undefined : known?.newest
    if (dictionary !== undefined) {
      const packed = deflateRawSync(raw, { dictionary: dictionary.bytes })
      if (packed.length + ID_BYTES < raw.length) return [packed, FLAG_DICTIONARY, dictionary]
    } else if (compression === 'zlib' && raw.length >= minCompressBytes) {
      const packed = deflateSync(raw)
      if (packed.length < raw.length) return [packed, FLAG_ZLIB]
    }
    return [raw, 0]
  }

  /** Opens the envelope, and passes the bytes inside to the reader of their form. */
  function open<Read>(
    stored: Uint8Array,
    readFormat: (format: BodyFormat, raw: Buffer) => Read,
    readValues: (raw: Buffer, shape: Shape) => Read,
  ): Read {
    if (!isBytes(stored)) throw damaged(`it has to be bytes; got ${describeKind(stored)}`)
    const body = asBuffer(stored)
    if (body.length < HEADER_BYTES) throw damaged('it is shorter than its header')
    const payload = body.subarray(HEADER_BYTES)
    if (!isWhole(body, payload)) {
      throw damaged('its checksum does not hold, or it was written by something else')
    }
    const id = body[0] as number
    const flags = body[1] as number
    const bodyFormat = id === SHAPED_FORMAT ? undefined : formats.get(id)
    if ((bodyFormat === undefined && id !== SHAPED_FORMAT) || flags > FLAG_DICTIONARY)
      throw unknownBody(id, flags, formats)
    const rawLength = body.readUInt32BE(2)
    if (rawLength > maxBodyBytes) throw tooLarge(rawLength, maxBodyBytes)
    if (bodyFormat !== undefined && flags === 0)
      return readFormat(bodyFormat, checkLength(payload, rawLength))

    let start = 0
    const readId = (): number => {
      if (payload.length < start + ID_BYTES) throw damaged('it is shorter than its header')
      start += ID_BYTES
      return payload.readUIntBE(start - ID_BYTES, ID_BYTES)
    }
    const shape = bodyFormat === undefined ? requireEntry('shape', readId()) : undefined
    const dictionary = flags === FLAG_DICTIONARY ? requireEntry('dictionary', readId()).bytes : undefined
    const data = start === 0 ? payload : payload.subarray(start)
    const raw = checkLength(flags === 0 ? data : inflate(data, rawLength, dictionary), rawLength)
    return shape === undefined ? readFormat(bodyFormat as BodyFormat, raw) : readValues(raw, shape)
  }

  const decode = (stored: Uint8Array): Bag => open(stored, runDecode, readShaped)
  const kindOf = (stored: Uint8Array): string | undefined => open(stored, kindByFormat, kindInValues)

  /** Throws `BODY_UNKNOWN` for an entry that is not known. */
  function requireEntry<Kind extends 'shape' | 'dictionary'>(
    kind: Kind,
    number: number,
  ): NonNullable<ReturnType<KnownCodecEntries[Kind]>> {
    const entry = known?.[kind](number)
    if (entry !== undefined) return entry as NonNullable<ReturnType<KnownCodecEntries[Kind]>>
    const remedy =
      known === undefined
        ? 'which only a store can look up. Read it through a store'
        : 'which no reachable shard has. Restore the rows of looseleaf_codec from a backup'
    throw new LooseleafError(
      'BODY_UNKNOWN',
      `A stored body is intact, but it refers to the ${kind} ${idOf(number)}, ${remedy}.`,
    )
  }

  /** A body above `maxBodyBytes` is never decoded, so it counts by its stored length. */
  function decodedBytes(stored: Uint8Array): number {
    if (stored.length < HEADER_BYTES) return stored.length
    let rawLength = 0
    for (let i = 2; i < SUMMED_HEADER_BYTES; i++) rawLength = rawLength * 256 + (stored[i] as number)
    return rawLength > maxBodyBytes ? stored.length : Math.max(stored.length, rawLength)
  }

  function describe(stored: Uint8Array): BodyDescription | undefined {
    const body = asBuffer(stored)
    const isShaped = body[0] === SHAPED_FORMAT
    const hasDictionary = body[1] === FLAG_DICTIONARY
    const shapeEnd = HEADER_BYTES + (isShaped ? ID_BYTES : 0)
    const headerBytes = shapeEnd + (hasDictionary ? ID_BYTES : 0)
    if (body.length < headerBytes || (body[1] as number) > FLAG_DICTIONARY || !isWhole(body)) return undefined
    const idBefore = (end: number): string => idOf(body.readUIntBE(end - ID_BYTES, ID_BYTES))
    return {
      format: isShaped ? msgpackFormat.name : (formats.get(body[0] as number)?.name ?? `${body[0]}`),
      compression: hasDictionary ? 'dictionary' : body[1] === FLAG_ZLIB ? 'zlib' : 'none',
      headerBytes,
      plainBytes: body.readUInt32BE(2),
      shape: isShaped ? idBefore(shapeEnd) : undefined,
      dictionary: hasDictionary ? idBefore(headerBytes) : undefined,
    }
  }

  const parts = [format.name]
  if (settings.shapes) parts.push('shapes')
  if (compression !== 'none') parts.push(settings.dictionary ? 'dictionary' : compression)
  return { name: parts.join('+'), encode, decode, kindOf, decodedBytes, describe }
}

/** Returns the numbers of the unknown codec entries that a body refers to; none for a damaged body. */
function references(stored: Uint8Array, isKnown: (number: number) => boolean): readonly number[] {
  const isShaped = stored[0] === SHAPED_FORMAT
  const hasDictionary = stored[1] === FLAG_DICTIONARY
  const count = Number(isShaped) + Number(hasDictionary)
  if (count === 0 || stored.length < HEADER_BYTES + count * ID_BYTES) return NONE
  const body = asBuffer(stored)
  let unknown: number[] | undefined
  for (let i = 0; i < count; i++) {
    const number = body.readUIntBE(HEADER_BYTES + i * ID_BYTES, ID_BYTES)
    if (!isKnown(number)) (unknown ??= []).push(number)
  }
  if (unknown === undefined) return NONE
  return isWhole(body) ? unknown : NONE
}

/**
 * Tells whether the checksum of a body matches. The body is at least as long as its header. Each view of bytes costs time, so a
 * caller passes the view that it has.
 */
function isWhole(body: Buffer, payload: Buffer = body.subarray(HEADER_BYTES)): boolean {
  return body.readUInt32BE(SUMMED_HEADER_BYTES) === checksum(body, SUMMED_HEADER_BYTES, payload)
}

const NONE: readonly number[] = []

/** MessagePack, compressed by zlib if that makes it smaller: the default. */
export function msgpackZlibCodec(): Codec {
  return envelopeCodec()
}

/** JSON, compressed by zlib if that makes it smaller. */
export function jsonZlibCodec(): Codec {
  return envelopeCodec({ format: jsonFormat })
}

/** JSON without compression. From its eleventh byte on, a body is readable by people and by the database's JSON functions. */
export function jsonCodec(): Codec {
  return envelopeCodec({ format: jsonFormat, compression: 'none' })
}

function checkLength(raw: Buffer, rawLength: number): Buffer {
  if (raw.length !== rawLength) throw damaged('its length is not the one that its header tells')
  return raw
}

/** Expands compressed bytes. Allocates no more memory than the header announced. */
function inflate(payload: Buffer, rawLength: number, dictionary: Uint8Array | undefined): Buffer {
  let result: { buffer: Buffer; engine: { bytesWritten: number } }
  const options: ZlibOptions = { maxOutputLength: Math.max(1, rawLength), info: true }
  try {
    const inflated: unknown =
      dictionary === undefined
        ? inflateSync(payload, options)
        : inflateRawSync(payload, { ...options, dictionary })
    // With `info` Node returns an object, which is missing in its type declarations.
    result = inflated as typeof result
  } catch (cause) {
    throw damaged('its compressed bytes cannot be expanded to the length that its header tells', cause)
  }
  if (result.engine.bytesWritten !== payload.length) throw damaged('bytes follow its compressed part')
  return result.buffer
}

/** Packs a copy of `copyBag`, or its values by a shape. The next call may overwrite the bytes. */
function pack(format: BodyFormat, bag: Bag, values: readonly PropertyValue[] | undefined): Uint8Array {
  if (values !== undefined) return packMsgpack(values)
  return format === msgpackFormat ? packMsgpack(bag) : runEncode(format, bag)
}

function runEncode(format: BodyFormat, bag: Bag): Uint8Array {
  let raw: Uint8Array
  try {
    raw = format.encode(bag)
  } catch (cause) {
    if (isLooseleafError(cause)) throw cause
    throw new LooseleafError('BAD_PROPERTY', `The format ${format.name} cannot encode this bag.`, { cause })
  }
  if (isBytes(raw)) return raw
  throw badOption(`The format ${format.name} has to encode a bag to bytes; it gave ${describeKind(raw)}.`)
}

function runDecode(format: BodyFormat, raw: Uint8Array): Bag {
  try {
    const bag = format.decode(raw)
    // The readers of the built-in formats are as strict as `checkBag`.
    if (!BUILT_IN.includes(format)) checkBag(bag)
    return bag
  } catch (cause) {
    if (isUndecodable(cause)) throw cause
    if (BUILT_IN.includes(format)) throw damaged(`the format ${format.name} does not accept it`, cause)
    // The checksum matches, so a process has written this body, perhaps with another key or a later version of the format.
    throw new LooseleafError(
      'BODY_UNKNOWN',
      `A stored body is intact, but the format ${format.name} of this process does not accept it; that of another process may.`,
      { cause },
    )
  }
}

function kindByFormat(format: BodyFormat, raw: Buffer): string | undefined {
  if (format === msgpackFormat) return kindInBag(raw)
  const kind = runDecode(format, raw)[KIND_PROPERTY]
  return typeof kind === 'string' ? kind : undefined
}

function unknownBody(id: number, flags: number, formats: ReadonlyMap<number, BodyFormat>): LooseleafError {
  const builtIn = BUILT_IN.find((format) => format.id === id)
  const name = builtIn === undefined ? String(id) : `${id} (${builtIn.name})`
  const known = [...formats.values()].map((format) => `${format.name} (${format.id})`).join(', ')
  return new LooseleafError(
    'BODY_UNKNOWN',
    `A stored body is intact, but has format ${name} with flags ${flags}; this codec reads ${known} with flags 0 to ${FLAG_DICTIONARY}. Add the format to \`alsoReads\`, or update this process.`,
  )
}

function tooLarge(bytes: number, maxBodyBytes: number): LooseleafError {
  return new LooseleafError(
    'BODY_TOO_LARGE',
    `A body of ${bytes} bytes is above the codec's limit of ${maxBodyBytes} bytes (maxBodyBytes).`,
  )
}
