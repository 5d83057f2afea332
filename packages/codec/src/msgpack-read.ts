import { isUtf8 } from 'node:buffer'
import type { Bag, PropertyValue } from '@looseleaf/core'
import { arrayOf, asBuffer, MAX_DEPTH, MAX_VALUES } from '@looseleaf/core/internal'
import { damaged, tooManyValues } from './damaged.ts'
import type { NestedShape, Shape } from './shape.ts'
import { emptyNamePath, followerAt, learnName, type LearnedName } from './msgpack-names.ts'

/** Range of a Date, in milliseconds before and after 1970. */
const MAX_TIME = 8.64e15
/** Replaces bytes that are not UTF-8 in a decoded text. A text may also contain it. */
const REPLACEMENT = '\ufffd'

/**
 * `toString('utf8', …)` calls `utf8Slice`; the direct call saves 7 % of a decoding. Every Buffer of Node has it, but not its types.
 */
type SlicedBuffer = Buffer & { utf8Slice(start: number, end: number): string }

// Decoding is synchronous, so one body is read at a time. Module variables are quicker than an object that is passed on.
let source: Buffer = Buffer.alloc(0)
let at = 0
let values = 0

/**
 * Decodes the MessagePack bytes of a bag in one walk. The bag has no views of `bytes`.
 *
 * Throws `BODY_DAMAGED` for bytes that the codec never writes: extensions other than the timestamp, the unused tag 0xC1, names that
 * are not strings or are repeated, the name `__proto__`, text that is not UTF-8, times beyond a Date, values nested too deep, and
 * missing or extra bytes. Throws `BODY_TOO_LARGE` before it builds more than `MAX_VALUES` values. A -0 of another writer becomes 0.
 */
export function readMsgpack(bytes: Uint8Array): Bag {
  return readAll(bytes, () => {
    const tag = source[0] ?? 0
    if ((tag & 0xf0) !== 0x80 && tag !== 0xde && tag !== 0xdf) throw damaged('it does not hold a bag')
    return readValue(1) as Bag
  })
}

/** Like `readMsgpack`, for the array of a bag's values by a shape. */
export function readShaped(bytes: Uint8Array, shape: Shape): Bag {
  return readAll(bytes, () => {
    if (!isArrayTag(source[0])) throw damaged('it does not hold the values of a bag')
    return readByShape(shape, 1)
  })
}

function readAll(bytes: Uint8Array, read: () => Bag): Bag {
  source = asBuffer(bytes)
  at = values = 0
  try {
    const bag = read()
    if (at !== source.length) throw damaged('bytes are left over')
    return bag
  } finally {
    source = NOTHING
  }
}

const NOTHING = source

/** Skips bytes and returns the offset of the first. */
function skip(bytes: number): number {
  const start = at
  at += bytes
  if (at > source.length) throw damaged('it ends too early')
  return start
}

function readUnsigned(bytes: number): number {
  let value = 0
  for (let i = skip(bytes); i < at; i++) value = value * 0x100 + (source[i] as number)
  return value
}

/** `depth`: level of an object or array at this offset. */
function readValue(depth: number): PropertyValue {
  const tag = source[skip(1)] as number
  if (tag < 0x80) return tag
  if (tag < 0x90) return readObject(tag & 0x0f, depth)
  if (tag < 0xa0) return readArray(tag & 0x0f, depth)
  if (tag < 0xc0) return readText(tag & 0x1f)
  if (tag >= 0xe0) return tag - 0x100
  switch (tag) {
    case 0xc0:
      return null
    case 0xc2:
      return false
    case 0xc3:
      return true
    case 0xc4:
    case 0xc5:
    case 0xc6:
      return readBytes(readUnsigned(1 << (tag - 0xc4)))
    case 0xca:
      return source.readFloatBE(skip(4)) + 0
    case 0xcb:
      return source.readDoubleBE(skip(8)) + 0
    case 0xcc:
    case 0xcd:
    case 0xce:
      return readUnsigned(1 << (tag - 0xcc))
    case 0xcf:
      return source.readBigUInt64BE(skip(8))
    case 0xd0:
    case 0xd1:
    case 0xd2:
      return source.readIntBE(skip(1 << (tag - 0xd0)), 1 << (tag - 0xd0))
    case 0xd3:
      return source.readBigInt64BE(skip(8))
    case 0xc7:
      return readTime(readUnsigned(1))
    case 0xd6:
      return readTime(4)
    case 0xd7:
      return readTime(8)
    case 0xd9:
    case 0xda:
    case 0xdb:
      return readText(readUnsigned(1 << (tag - 0xd9)))
    case 0xdc:
    case 0xdd:
      return readArray(readUnsigned(tag === 0xdc ? 2 : 4), depth)
    case 0xde:
    case 0xdf:
      return readObject(readUnsigned(tag === 0xde ? 2 : 4), depth)
    default:
      throw damaged('it holds a type that no bag has')
  }
}

function countItems(count: number, depth: number): void {
  if (depth > MAX_DEPTH) throw damaged(`it is nested more than ${MAX_DEPTH} deep`)
  if (count > source.length - at) throw damaged('it ends too early')
  values += count
  if (values > MAX_VALUES) throw tooManyValues()
}

function readArray(count: number, depth: number): PropertyValue {
  countItems(count, depth)
  const array = arrayOf<PropertyValue>(count)
  for (let i = 0; i < count; i++) array[i] = readValue(depth + 1)
  return array
}

function readObject(count: number, depth: number): PropertyValue {
  countItems(count, depth)
  const object: Bag = {}
  let path: LearnedName | undefined = emptyNamePath()
  for (let i = 0; i < count; i++) {
    const known: LearnedName | undefined = followerAt(path, source, at)
    if (known === undefined) {
      const start = at
      const name = readName()
      path = learnName(path, name, source.subarray(start, at))
      if (path === undefined) return readUnlearned(object, name, i, count, depth)
    } else {
      at += known.bytes.length
      path = known
    }
    object[path.name] = readValue(depth + 1)
  }
  return object
}

/** Reads the rest of an object without learning, from the value of its property number `done` on. */
function readUnlearned(object: Bag, name: string, done: number, count: number, depth: number): PropertyValue {
  object[name] = readValue(depth + 1)
  for (let i = done + 1; i < count; i++) object[readName()] = readValue(depth + 1)
  if (Object.keys(object).length !== count) throw damaged('a property name is repeated')
  return object
}

/** Reads an array as the values of an object, one for each name of the shape. */
function readByShape({ names, nested }: Shape, depth: number): Bag {
  if (readArrayHead() !== names.length)
    throw damaged('an object has not as many values as its shape has names')
  countItems(names.length, depth)
  const object: Bag = {}
  for (let i = 0; i < names.length; i++) {
    const shape = nested[i]
    object[names[i] as string] = shape === undefined ? readValue(depth + 1) : readNested(shape, depth + 1)
  }
  return object
}

/**
 * Reads a value with a nested shape. An array has the values of an object of that shape, or (`inArray`) such arrays as elements. Any
 * other value is read as it is.
 */
function readNested(shape: NestedShape, depth: number): PropertyValue {
  if (!isArrayTag(source[at])) return readValue(depth)
  if (!shape.inArray) return readByShape(shape, depth)
  const count = readArrayHead()
  countItems(count, depth)
  const array = arrayOf<PropertyValue>(count)
  for (let i = 0; i < count; i++) {
    array[i] = isArrayTag(source[at]) ? readByShape(shape, depth + 1) : readValue(depth + 1)
  }
  return array
}

function isArrayTag(tag = 0): boolean {
  return (tag & 0xf0) === 0x90 || tag === 0xdc || tag === 0xdd
}

function readArrayHead(): number {
  const tag = source[skip(1)] as number
  return tag < 0xa0 ? tag & 0x0f : readUnsigned(tag === 0xdc ? 2 : 4)
}

function readName(): string {
  const tag = source[skip(1)] as number
  if (tag < 0xa0 || tag > 0xdb || (tag >= 0xc0 && tag < 0xd9))
    throw damaged('a property name is not a string')
  const name = readText(tag < 0xc0 ? tag & 0x1f : readUnsigned(1 << (tag - 0xd9)))
  if (name === '__proto__') throw damaged('a property name is not allowed')
  return name
}

function readText(length: number): string {
  const start = skip(length)
  const text = (source as SlicedBuffer).utf8Slice(start, at)
  // Invalid UTF-8 always leaves this character in the text, so the slower check of the bytes is rare.
  if (text.includes(REPLACEMENT) && !isUtf8(source.subarray(start, at))) throw damaged('a text is not UTF-8')
  return text
}

/** Copies bytes, because a view would keep the whole body in memory. */
function readBytes(length: number): Uint8Array {
  const start = skip(length)
  const bytes = new Uint8Array(length)
  source.copy(bytes, 0, start, at)
  return bytes
}

function readTime(length: number): Date {
  const known = readUnsigned(1) === 0xff && (length === 4 || length === 8 || length === 12)
  if (!known) throw damaged('it holds a type that no bag has')
  const high = length === 4 ? 0 : readUnsigned(4)
  const middle = length === 12 ? readUnsigned(4) | 0 : high & 3
  const nanoseconds = length === 8 ? high >>> 2 : high
  const time = (middle * 0x1_0000_0000 + readUnsigned(4)) * 1000 + nanoseconds / 1_000_000
  if (nanoseconds > 999_999_999 || Math.abs(time) > MAX_TIME) throw damaged('a time is out of range')
  return new Date(time)
}
