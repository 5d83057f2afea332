import { constants } from 'node:zlib'
import { LooseleafError } from '@looseleaf/core'
import { describeKind } from '@looseleaf/core/internal'
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
   * Smaller bodies (in bytes) are not compressed by zlib. Below the default it takes ten times as long as the encoding and saves less
   * than two fifths. A body that would not become smaller is never compressed. Default: 1,024.
   */
  readonly minCompressBytes?: number | undefined
  /**
   * Stores the names of properties once for the store, as shapes, and writes bags without them. Needs `msgpackFormat` and a store. Such
   * bodies are read with or without this option. Default: false.
   */
  readonly shapes?: boolean | undefined
  /** Compresses bodies of 64 bytes and more by the store's dictionary, once one was trained. Needs a store. Default: false. */
  readonly dictionary?: boolean | undefined
  /** Level of zlib, 1 (fast) to 9 (small). Default: 6. */
  readonly level?: number | undefined
  /** Largest size of a body in bytes, both encoded and stored. Default: 8 MiB; at most 16 MiB less a byte, the limit of the column. */
  readonly maxBodyBytes?: number | undefined
}

const OPTION_NAMES = [
  'format',
  'alsoReads',
  'compression',
  'minCompressBytes',
  'shapes',
  'dictionary',
  'level',
  'maxBodyBytes',
]

/** Checked options with their defaults. */
export interface EnvelopeSettings {
  readonly format: BodyFormat
  readonly formats: ReadonlyMap<number, BodyFormat>
  readonly compression: 'zlib' | 'none'
  readonly minCompressBytes: number
  readonly shapes: boolean
  readonly dictionary: boolean
  readonly level: number
  readonly maxBodyBytes: number
}

const DEFAULT_MAX_BODY_BYTES = 8 * 1024 * 1024
/** Limit of a `mediumblob`. */
const GREATEST_BODY_BYTES = 2 ** 24 - 1
export const BUILT_IN: readonly BodyFormat[] = [msgpackFormat, jsonFormat]

/** Adds the defaults. Throws `BAD_OPTION` for options that are not valid. */
export function checkEnvelopeOptions(options: EnvelopeCodecOptions): EnvelopeSettings {
  checkNames(options)
  const { format = msgpackFormat, alsoReads = BUILT_IN, compression = 'zlib' } = options
  const { Z_BEST_SPEED, Z_BEST_COMPRESSION } = constants
  const minCompressBytes = checkInteger('minCompressBytes', options.minCompressBytes ?? 1024, 0, 2 ** 31)
  const level = checkInteger('level', options.level ?? 6, Z_BEST_SPEED, Z_BEST_COMPRESSION)
  const bytes = options.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES
  const maxBodyBytes = checkInteger('maxBodyBytes', bytes, 1, GREATEST_BODY_BYTES)
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
  // `for` does not skip holes, as `forEach` would.
  for (const other of alsoReads) checkFormat('alsoReads', other)
  const formats = formatsById([format, ...alsoReads])
  const shapes = checkFlag('shapes', options.shapes)
  if (shapes && format !== msgpackFormat) {
    throw new LooseleafError(
      'BAD_OPTION',
      `A codec with shapes needs msgpackFormat; its format is ${format.name}.`,
    )
  }
  const dictionary = checkFlag('dictionary', options.dictionary)
  if (dictionary && compression === 'none') {
    throw new LooseleafError(
      'BAD_OPTION',
      "A codec with a dictionary needs compression; its compression is 'none'.",
    )
  }
  return { format, formats, compression, minCompressBytes, shapes, dictionary, level, maxBodyBytes }
}

function checkFlag(option: string, value: unknown): boolean {
  if (value === undefined || typeof value === 'boolean') return value ?? false
  throw new LooseleafError(
    'BAD_OPTION',
    `A codec's ${option} has to be true or false; got ${describeKind(value)}.`,
  )
}

/** Throws for unknown options, most of which are misspelt ones. */
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

/** Checks a format without its id, which `formatsById` checks. */
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

function checkInteger(option: string, value: number, min: number, max: number): number {
  if (Number.isInteger(value) && value >= min && value <= max) return value
  const received = typeof value === 'number' ? String(value) : describeKind(value)
  throw new LooseleafError(
    'BAD_OPTION',
    `A codec's ${option} has to be an integer from ${min} to ${max}; got ${received}.`,
  )
}
