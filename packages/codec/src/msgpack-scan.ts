import { isUtf8 } from 'node:buffer'
import { MAX_DEPTH, MAX_VALUES } from '@looseleaf/core'
import { damaged, tooManyValues } from './damaged.ts'

/** Texts up to this length are looked at byte by byte, which is faster than a call for each. */
const SHORT_TEXT = 64
/** The most milliseconds before and after 1970 that a Date holds. */
const MAX_TIME = 8.64e15

/** The extension as which msgpackr gets a long text that begins with a byte order mark. */
export const MARKED_TEXT_EXTENSION = 0xef

export interface ScannedMsgpack {
  /** What msgpackr is to unpack: the bytes that came, or a copy that puts another way what it would not get right. */
  readonly bytes: Buffer
  /** How many properties the bag and the objects within it have. */
  readonly properties: number
}

let source: Buffer = Buffer.alloc(0)
let isCopy = false
let at = 0
let properties = 0
let values = 0

/**
 * Walks over MessagePack bytes without building anything, and throws `BODY_DAMAGED` for what is never written, so that
 * msgpackr, which is lenient and has many extensions, only gets what it unpacks exactly. Refused are extensions other than the
 * timestamp, the unused tag 0xC1, names that are not strings, the name `__proto__`, text that is not UTF-8, times that no Date
 * holds, values nested too deep, bytes that are missing or left over. More than `MAX_VALUES` values are `BODY_TOO_LARGE`.
 * `bytes` is not changed.
 */
export function scanMsgpack(bytes: Uint8Array): ScannedMsgpack {
  source = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  isCopy = false
  at = properties = values = 0
  const tag = source[0] ?? 0
  if ((tag & 0xf0) !== 0x80 && tag !== 0xde && tag !== 0xdf) throw damaged('it does not hold a bag')
  scanValue(1)
  if (at !== source.length) throw damaged('bytes are left over')
  return { bytes: source, properties }
}

/** Moves past the next `bytes` bytes; returns where they start. */
function skip(bytes: number): number {
  const start = at
  at += bytes
  if (at > source.length) throw damaged('it ends too early')
  return start
}

/** The next unsigned integer, of 1, 2 or 4 bytes. */
function take(bytes: number): number {
  let value = 0
  for (let i = skip(bytes); i < at; i++) value = value * 0x100 + (source[i] as number)
  return value
}

/** `depth` is the one that an object or array at this place has. */
function scanValue(depth: number): unknown {
  const tag = source[skip(1)] as number
  if (tag < 0x80 || tag >= 0xe0) return
  if (tag < 0xa0) return scanItems(tag & 0x0f, tag < 0x90, depth)
  if (tag < 0xc0 || (tag >= 0xd9 && tag <= 0xdb)) return scanText(tag)
  if (tag === 0xc0 || tag === 0xc2 || tag === 0xc3) return
  if (tag >= 0xc4 && tag <= 0xc6) return skip(take(1 << (tag - 0xc4)))
  if (tag === 0xca || tag === 0xcb) return scanFloat(tag === 0xca ? 4 : 8)
  if (tag >= 0xcc && tag <= 0xd3) return skip(1 << (tag & 3))
  if (tag === 0xd6 || tag === 0xd7) return scanTime(tag === 0xd6 ? 4 : 8)
  if (tag === 0xc7) return scanTime(take(1))
  if (tag >= 0xdc && tag <= 0xdf) return scanItems(take((tag & 1) === 0 ? 2 : 4), tag >= 0xde, depth)
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
 * Without its native part msgpackr drops a byte order mark at the start of texts of more than 64 bytes. In a copy such a text becomes
 * an extension: their lengths are as wide as those of texts, and the type takes the place of the text's first byte.
 */
function scanText(tag: number): number {
  const width = tag < 0xc0 ? 0 : 1 << (tag - 0xd9)
  const length = width === 0 ? tag & 0x1f : take(width)
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

/** -0, which only other writers write, becomes 0 in a copy. */
function scanFloat(bytes: 4 | 8): void {
  const start = skip(bytes)
  if (source[start] !== 0x80) return
  for (let i = start + 1; i < at; i++) if (source[i] !== 0) return
  copyOnce()[start] = 0
}

function scanTime(length: number): void {
  const known = take(1) === 0xff && (length === 4 || length === 8 || length === 12)
  if (!known) throw damaged('it holds a type that no bag has')
  const high = length === 4 ? 0 : take(4)
  const middle = length === 12 ? take(4) | 0 : high & 3
  const nanoseconds = length === 8 ? high >>> 2 : high
  const time = (middle * 0x1_0000_0000 + take(4)) * 1000 + nanoseconds / 1_000_000
  if (nanoseconds > 999_999_999 || Math.abs(time) > MAX_TIME) throw damaged('a time is out of range')
}

function copyOnce(): Buffer {
  if (!isCopy) source = Buffer.from(source)
  isCopy = true
  return source
}
