import { isUtf8 } from 'node:buffer'
import { arrayOf, MAX_DEPTH, MAX_VALUES, type Bag, type PropertyValue } from '@looseleaf/core'
import { damaged, tooManyValues } from './damaged.ts'
import type { HeldShape, Shape } from './shape.ts'
import { firstOfObject, followerAt, learnName, type LearnedName } from './msgpack-names.ts'

/** The most milliseconds before and after 1970 that a Date holds. */
const MAX_TIME = 8.64e15
/** What stands in a text for bytes that are not UTF-8, and for itself. */
const REPLACEMENT = '\ufffd'

/** What `toString('utf8', …)` calls, without the 7 % of a decoding that it takes to get there. Part of every Buffer of Node, if not of its types. */
type SlicedBuffer = Buffer & { utf8Slice(start: number, end: number): string }

// One body is read at a time. Variables of the module are quicker than those of an object that every function is given.
let source: Buffer = Buffer.alloc(0)
let at = 0
let values = 0

/**
 * The bag of MessagePack bytes, in one walk. Throws `BODY_DAMAGED` for what is never written: extensions other than the
 * timestamp, the unused tag 0xC1, names that are not strings or are repeated, the name `__proto__`, text that is not UTF-8, times
 * that no Date holds, values nested too deep, bytes that are missing or left over. More than `MAX_VALUES` values are
 * `BODY_TOO_LARGE`, before more than these are built. -0, which only other writers write, becomes 0. Nothing that is read is a view of `bytes`.
 */
export function readMsgpack(bytes: Uint8Array): Bag {
  return readAll(bytes, () => {
    const tag = source[0] ?? 0
    if ((tag & 0xf0) !== 0x80 && tag !== 0xde && tag !== 0xdf) throw damaged('it does not hold a bag')
    return readValue(1) as Bag
  })
}

/** As `readMsgpack`, for the array of the values of a bag whose names are those of a shape. */
export function readShaped(bytes: Uint8Array, shape: Shape): Bag {
  return readAll(bytes, () => {
    if (!isArrayTag(source[0])) throw damaged('it does not hold the values of a bag')
    return readByShape(shape, 1)
  })
}

function readAll(bytes: Uint8Array, read: () => Bag): Bag {
  source = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
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
      return readBytes(take(1 << (tag - 0xc4)))
    case 0xca:
      return source.readFloatBE(skip(4)) + 0
    case 0xcb:
      return source.readDoubleBE(skip(8)) + 0
    case 0xcc:
    case 0xcd:
    case 0xce:
      return take(1 << (tag - 0xcc))
    case 0xcf:
      return source.readBigUInt64BE(skip(8))
    case 0xd0:
    case 0xd1:
    case 0xd2:
      return source.readIntBE(skip(1 << (tag - 0xd0)), 1 << (tag - 0xd0))
    case 0xd3:
      return source.readBigInt64BE(skip(8))
    case 0xc7:
      return readTime(take(1))
    case 0xd6:
      return readTime(4)
    case 0xd7:
      return readTime(8)
    case 0xd9:
    case 0xda:
    case 0xdb:
      return readText(take(1 << (tag - 0xd9)))
    case 0xdc:
    case 0xdd:
      return readArray(take(tag === 0xdc ? 2 : 4), depth)
    case 0xde:
    case 0xdf:
      return readObject(take(tag === 0xde ? 2 : 4), depth)
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
  let path: LearnedName | undefined = firstOfObject()
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

/** The rest of an object, from the value of its property `done` on. */
function readUnlearned(object: Bag, name: string, done: number, count: number, depth: number): PropertyValue {
  object[name] = readValue(depth + 1)
  for (let i = done + 1; i < count; i++) object[readName()] = readValue(depth + 1)
  if (Object.keys(object).length !== count) throw damaged('a property name is repeated')
  return object
}

/** The object whose values stand here as an array, one for each name of the shape. */
function readByShape({ names, within }: Shape, depth: number): Bag {
  if (readArrayHead() !== names.length)
    throw damaged('an object has not as many values as its shape has names')
  countItems(names.length, depth)
  const object: Bag = {}
  for (let i = 0; i < names.length; i++) {
    const held = within[i]
    object[names[i] as string] = held === undefined ? readValue(depth + 1) : readHeld(held, depth + 1)
  }
  return object
}

/** What stands where objects of a shape are usual. An array is the values of one of these, or it holds such arrays; all else is itself. */
function readHeld(shape: HeldShape, depth: number): PropertyValue {
  if (!isArrayTag(source[at])) return readValue(depth)
  if (!shape.each) return readByShape(shape, depth)
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

/** Of an array, whose tag stands here: how many values it has. */
function readArrayHead(): number {
  const tag = source[skip(1)] as number
  return tag < 0xa0 ? tag & 0x0f : take(tag === 0xdc ? 2 : 4)
}

function readName(): string {
  const tag = source[skip(1)] as number
  if (tag < 0xa0 || tag > 0xdb || (tag >= 0xc0 && tag < 0xd9))
    throw damaged('a property name is not a string')
  const name = readText(tag < 0xc0 ? tag & 0x1f : take(1 << (tag - 0xd9)))
  if (name === '__proto__') throw damaged('a property name is not allowed')
  return name
}

function readText(length: number): string {
  const start = skip(length)
  const text = (source as SlicedBuffer).utf8Slice(start, at)
  // Quicker than to look at the bytes, and right: what is not UTF-8 always leaves this character behind.
  if (text.includes(REPLACEMENT) && !isUtf8(source.subarray(start, at))) throw damaged('a text is not UTF-8')
  return text
}

/** In memory of their own: a small Buffer is a view of memory that is shared with others. */
function readBytes(length: number): Uint8Array {
  const start = skip(length)
  const bytes = new Uint8Array(length)
  source.copy(bytes, 0, start, at)
  return bytes
}

function readTime(length: number): Date {
  const known = take(1) === 0xff && (length === 4 || length === 8 || length === 12)
  if (!known) throw damaged('it holds a type that no bag has')
  const high = length === 4 ? 0 : take(4)
  const middle = length === 12 ? take(4) | 0 : high & 3
  const nanoseconds = length === 8 ? high >>> 2 : high
  const time = (middle * 0x1_0000_0000 + take(4)) * 1000 + nanoseconds / 1_000_000
  if (nanoseconds > 999_999_999 || Math.abs(time) > MAX_TIME) throw damaged('a time is out of range')
  return new Date(time)
}
