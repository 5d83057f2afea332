import { isUtf8 } from 'node:buffer'
import type { Bag, PropertyValue } from '@looseleaf/core'
import { MAX_DEPTH, MAX_VALUES } from '@looseleaf/core/internal'
import { addExtension, Packr } from 'msgpackr/pack'
import { damaged, tooManyValues } from '../src/damaged.ts'

// A second reader of format 1, for comparison with the codec's. It is slower, and built of other parts: a scan that refuses bytes that are
// never written, msgpackr, and a count of the properties, which finds repeated names. It read the first stored bodies.

const SHORT_TEXT = 64
const MAX_TIME = 8.64e15
const MARKED_TEXT_EXTENSION = 0xef

const packr = new Packr({
  useRecords: false,
  variableMapSize: true,
  int64AsType: 'bigint',
  useToJSON: false,
  moreTypes: false,
  copyBuffers: true,
})

// All users of msgpackr in a process share its extensions. Negative types are reserved for MessagePack, and this one is unused.
addExtension({
  type: MARKED_TEXT_EXTENSION,
  unpack: (bytes: Uint8Array) => `\ufeff${Buffer.from(bytes.subarray(2)).toString()}`,
})

export function unpackByMsgpackr(bytes: Uint8Array): Bag {
  const scanned = scanMsgpack(bytes)
  // msgpackr decodes bytes of a plain Uint8Array to Uint8Arrays, and those of a Buffer to Buffers.
  const bag = packr.unpack(new Uint8Array(scanned.buffer, scanned.byteOffset, scanned.length)) as Bag
  if (countProperties(bag) !== properties) throw damaged('a property name is repeated')
  return bag
}

function countProperties(value: PropertyValue | Bag): number {
  if (typeof value !== 'object' || value === null || value instanceof Date || value instanceof Uint8Array)
    return 0
  const nested = Object.values(value) as PropertyValue[]
  return nested.reduce<number>(
    (sum, inner) => sum + countProperties(inner),
    Array.isArray(value) ? 0 : nested.length,
  )
}

let source: Buffer = Buffer.alloc(0)
let isCopy = false
let at = 0
let properties = 0
let values = 0

function scanMsgpack(bytes: Uint8Array): Buffer {
  source = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  isCopy = false
  at = properties = values = 0
  const tag = source[0] ?? 0
  if ((tag & 0xf0) !== 0x80 && tag !== 0xde && tag !== 0xdf) throw damaged('it does not hold a bag')
  scanValue(1)
  if (at !== source.length) throw damaged('bytes are left over')
  return source
}

/** Skips bytes and returns the offset of the first. */
function skip(bytes: number): number {
  const start = at
  at += bytes
  if (at > source.length) throw damaged('it ends too early')
  return start
}

/** Reads an unsigned integer of 1, 2 or 4 bytes. */
function readUnsigned(bytes: number): number {
  let value = 0
  for (let i = skip(bytes); i < at; i++) value = value * 0x100 + (source[i] as number)
  return value
}

/** `depth`: level of an object or array at this offset. */
function scanValue(depth: number): unknown {
  const tag = source[skip(1)] as number
  if (tag < 0x80 || tag >= 0xe0) return
  if (tag < 0xa0) return scanItems(tag & 0x0f, tag < 0x90, depth)
  if (tag < 0xc0 || (tag >= 0xd9 && tag <= 0xdb)) return scanText(tag)
  if (tag === 0xc0 || tag === 0xc2 || tag === 0xc3) return
  if (tag >= 0xc4 && tag <= 0xc6) return skip(readUnsigned(1 << (tag - 0xc4)))
  if (tag === 0xca || tag === 0xcb) return scanFloat(tag === 0xca ? 4 : 8)
  if (tag >= 0xcc && tag <= 0xd3) return skip(1 << (tag & 3))
  if (tag === 0xd6 || tag === 0xd7) return scanTime(tag === 0xd6 ? 4 : 8)
  if (tag === 0xc7) return scanTime(readUnsigned(1))
  if (tag >= 0xdc && tag <= 0xdf) return scanItems(readUnsigned((tag & 1) === 0 ? 2 : 4), tag >= 0xde, depth)
  throw damaged('it holds a type that no bag has')
}

function scanItems(count: number, named: boolean, depth: number): void {
  if (depth > MAX_DEPTH) throw damaged(`it is nested more than ${MAX_DEPTH} deep`)
  if (count > source.length - at) throw damaged('it ends too early')
  values += count
  if (values > MAX_VALUES) throw tooManyValues()
  if (named) properties += count
  for (let i = 0; i < count; i++) {
    if (named) scanName()
    scanValue(depth + 1)
  }
}

function scanName(): void {
  const tag = source[skip(1)] as number
  if (tag < 0xa0 || tag > 0xdb || (tag >= 0xc0 && tag < 0xd9))
    throw damaged('a property name is not a string')
  const start = scanText(tag)
  if (at - start !== 9 || source[start] !== 0x5f) return
  if (source.toString('latin1', start, at) === '__proto__') throw damaged('a property name is not allowed')
}

/**
 * Checks a text. Without its native part, msgpackr drops a byte order mark at the start of texts of more than 64 bytes. So such a text
 * becomes an extension in a copy of the bytes: the lengths of extensions are as wide as those of texts, and the type replaces the
 * text's first byte.
 */
function scanText(tag: number): number {
  const width = tag < 0xc0 ? 0 : 1 << (tag - 0xd9)
  const length = width === 0 ? tag & 0x1f : readUnsigned(width)
  const start = skip(length)
  let i = start
  if (length <= SHORT_TEXT) while (i < at && (source[i] as number) < 0x80) i++
  if (i < at && !isUtf8(source.subarray(start, at))) throw damaged('a text is not UTF-8')
  if (length > SHORT_TEXT && source.readUIntBE(start, 3) === 0xefbbbf) {
    copyOnce()[start - width - 1] = tag - 0xd9 + 0xc7
    source.writeUIntBE(length - 1, start - width, width)
  }
  return start
}

/** Replaces a -0 of another writer by 0 in a copy of the bytes. */
function scanFloat(bytes: 4 | 8): void {
  const start = skip(bytes)
  if (source[start] !== 0x80) return
  for (let i = start + 1; i < at; i++) if (source[i] !== 0) return
  copyOnce()[start] = 0
}

function scanTime(length: number): void {
  const known = readUnsigned(1) === 0xff && (length === 4 || length === 8 || length === 12)
  if (!known) throw damaged('it holds a type that no bag has')
  const high = length === 4 ? 0 : readUnsigned(4)
  const middle = length === 12 ? readUnsigned(4) | 0 : high & 3
  const nanoseconds = length === 8 ? high >>> 2 : high
  const time = (middle * 0x1_0000_0000 + readUnsigned(4)) * 1000 + nanoseconds / 1_000_000
  if (nanoseconds > 999_999_999 || Math.abs(time) > MAX_TIME) throw damaged('a time is out of range')
}

function copyOnce(): Buffer {
  if (!isCopy) source = Buffer.from(source)
  isCopy = true
  return source
}
