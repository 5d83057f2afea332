import {
  badOption,
  badArgument,
  checkOptions,
  isRecord,
  oneOf,
  optionKinds,
  requireKind,
  wholeNumber,
  type OptionKind,
  type OptionKinds,
} from '@looseleaf/core/internal'
import type { BodyFormat } from './body-format.ts'
import { jsonFormat } from './json-format.ts'
import { msgpackFormat } from './msgpack-format.ts'

export interface EnvelopeCodecOptions {
  /** Format of written bodies. Default: `msgpackFormat`. */
  readonly format?: BodyFormat | undefined
  /** Formats that are read besides `format`, by the id in each body. Default: the built-in formats. */
  readonly alsoReads?: readonly BodyFormat[] | undefined
  /** Compression of written bodies. Either is always read. Default: `'zlib'`. */
  readonly compression?: 'zlib' | 'none' | undefined
  /**
   * Stores the names of properties once for the store, as shapes, and writes bags without them. Needs `msgpackFormat` and a store. Such
   * bodies are read with or without this option. Default: false.
   */
  readonly shapes?: boolean | undefined
  /** Compresses bodies of 64 bytes and more by the store's dictionary, once one was trained. Needs a store. Default: false. */
  readonly dictionary?: boolean | undefined
  /** Largest size of a body in bytes, both encoded and stored. Default: 8 MiB; at most 16 MiB less a byte, the limit of the column. */
  readonly maxBodyBytes?: number | undefined
}

/** Checked options with their defaults. */
export interface EnvelopeSettings {
  readonly format: BodyFormat
  readonly formats: ReadonlyMap<number, BodyFormat>
  readonly compression: 'zlib' | 'none'
  readonly shapes: boolean
  readonly dictionary: boolean
  readonly maxBodyBytes: number
}

const DEFAULT_MAX_BODY_BYTES = 8 * 1024 * 1024
/** Limit of a `mediumblob`. */
const GREATEST_BODY_BYTES = 2 ** 24 - 1
export const BUILT_IN: readonly BodyFormat[] = [msgpackFormat, jsonFormat]

const optionsOfCodec: OptionKinds<EnvelopeCodecOptions> = {
  format: optionKinds.elsewhere,
  alsoReads: { expected: 'a list of formats', fits: Array.isArray },
  compression: oneOf('zlib', 'none'),
  shapes: optionKinds.flag,
  dictionary: optionKinds.flag,
  maxBodyBytes: wholeNumber(1, GREATEST_BODY_BYTES),
}

/** Adds the defaults. Throws `BAD_OPTION` for options that are not valid. */
export function checkEnvelopeOptions(options: EnvelopeCodecOptions): EnvelopeSettings {
  checkOptions('envelopeCodec', options, optionsOfCodec)
  const {
    format = msgpackFormat,
    alsoReads = BUILT_IN,
    compression = 'zlib',
    shapes = false,
    dictionary = false,
    maxBodyBytes = DEFAULT_MAX_BODY_BYTES,
  } = options
  checkFormat('format', format)
  // `for` does not skip holes, as `forEach` would.
  for (const other of alsoReads) checkFormat('alsoReads', other)
  const formats = formatsById([format, ...alsoReads])
  if (shapes && format !== msgpackFormat) {
    throw badOption(`A codec with shapes needs msgpackFormat; its format is ${format.name}.`)
  }
  if (dictionary && compression === 'none') {
    throw badOption("A codec with a dictionary needs compression; its compression is 'none'.")
  }
  return { format, formats, compression, shapes, dictionary, maxBodyBytes }
}

const nonEmptyText: OptionKind = {
  expected: 'a text',
  fits: (value) => typeof value === 'string' && value !== '',
}

/** Checks a format without its id, which `formatsById` checks. */
function checkFormat(option: 'format' | 'alsoReads', format: unknown): void {
  const subject = `The option ${option} of envelopeCodec`
  if (!isRecord(format)) throw badArgument(subject, 'formats such as jsonFormat', format)
  const { name } = format
  requireKind(`The name of a format in ${option} of envelopeCodec`, name, nonEmptyText)
  for (const method of ['encode', 'decode'])
    requireKind(`The method ${method} of the format ${name as string}`, format[method], optionKinds.function)
}

const formatId = wholeNumber(1, 31)

function formatsById(all: readonly BodyFormat[]): ReadonlyMap<number, BodyFormat> {
  const formats = new Map<number, BodyFormat>()
  for (const format of all) {
    requireKind(`The id of the format ${format.name}`, format.id, formatId)
    const other = formats.get(format.id)
    if (other !== undefined && other !== format) {
      throw badOption(
        `The formats ${other.name} and ${format.name} of a codec have the same id, ${format.id}; ids 1 to 15 are Looseleaf's own, 16 to 31 are free.`,
      )
    }
    formats.set(format.id, format)
  }
  return formats
}
