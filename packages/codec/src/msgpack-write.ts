import type { Bag, PropertyValue } from '@looseleaf/core'
import { hasNames, isObject } from './shape-candidates.ts'
import { SHAPED, type Shape } from './shape.ts'
import { firstOfObject, followerNamed, learnName, type LearnedName } from './msgpack-names.ts'

/** Texts up to this length are written character by character; for longer ones a call is quicker. */
const SHORT_TEXT = 12
/** Memory that is kept for the next bag; what a larger one took is let go. */
const KEPT_BYTES = 256 * 1024

let target: Buffer = Buffer.allocUnsafeSlow(8192)
let at = 0

/**
 * The bag in MessagePack, every value in its shortest form, behind `headroom` bytes that are left for the caller to fill. A number is
 * an integer of up to 32 bits or else a double, a bigint an integer of 64 bits, a Date the standard timestamp. The bag is one
 * that `copyBag` has made.
 */
export function writeMsgpack(bag: Bag, headroom = 0): Buffer {
  return writeAll(headroom, () => writeObject(bag))
}

function writeAll(headroom: number, write: () => void): Buffer {
  at = headroom
  write()
  const bytes = Buffer.allocUnsafe(at)
  target.copy(bytes, 0, 0, at)
  if (target.length > KEPT_BYTES) target = Buffer.allocUnsafeSlow(8192)
  return bytes
}

/** Makes sure that as many bytes can be written. */
function reserve(bytes: number): void {
  if (at + bytes <= target.length) return
  const larger = Buffer.allocUnsafeSlow(Math.max(2 * target.length, at + bytes))
  target.copy(larger, 0, 0, at)
  target = larger
}

function writeValue(value: PropertyValue): void {
  // More than a tag and any number takes.
  reserve(16)
  switch (typeof value) {
    case 'string':
      return writeText(value)
    case 'number':
      return writeNumber(value)
    case 'boolean':
      target[at++] = value ? 0xc3 : 0xc2
      return
    case 'bigint':
      return writeBigint(value)
    default:
  }
  if (value === null) target[at++] = 0xc0
  else if (Array.isArray(value)) writeArray(value as readonly PropertyValue[])
  else if (value instanceof Date) writeTime(value.getTime())
  else if (value instanceof Uint8Array) writeBytes(value)
  else writeObject(value as Bag)
}

function writeObject(object: Bag): void {
  const names = Object.keys(object)
  writeCount(names.length, 0x80, 0xde)
  let path: LearnedName | undefined = firstOfObject()
  for (let i = 0; i < names.length; i++) {
    const name = names[i] as string
    path = path && writeName(path, name)
    if (path === undefined) writeText(name)
    writeValue(object[name] as PropertyValue)
  }
}

/** Answers undefined for one that is not learned, and then has not written it. */
function writeName(path: LearnedName, name: string): LearnedName | undefined {
  const known = followerNamed(path, name)
  if (known === undefined) {
    const start = at
    writeText(name)
    const next = learnName(path, name, target.subarray(start, at))
    if (next === undefined) at = start
    return next
  }
  const { bytes } = known
  reserve(bytes.length)
  const buffer = target
  for (let i = 0; i < bytes.length; i++) buffer[at + i] = bytes[i] as number
  at += bytes.length
  return known
}

/** As `writeMsgpack`, for a bag with the names of a shape: its values alone. */
export function writeShaped(bag: Bag, shape: Shape, headroom: number): Buffer {
  return writeAll(headroom, () => writeByShape(bag, shape))
}

function writeByShape(object: Bag, { names, within }: Shape): void {
  for (let i = 0; i < names.length; i++) {
    const value = object[names[i] as string] as PropertyValue
    const held = within[i]
    if (held === undefined) writeValue(value)
    else writeWithin(value, held)
  }
}

function writeWithin(value: PropertyValue, shape: Shape): void {
  if (Array.isArray(value)) {
    reserve(5)
    writeCount(value.length, 0x90, 0xdc)
    for (let i = 0; i < value.length; i++) writeWithin(value[i] as PropertyValue, shape)
  } else if (isObject(value) && hasNames(Object.keys(value), shape.names)) {
    reserve(1)
    target[at++] = SHAPED
    writeByShape(value, shape)
  } else writeValue(value)
}

function writeArray(array: readonly PropertyValue[]): void {
  writeCount(array.length, 0x90, 0xdc)
  for (let i = 0; i < array.length; i++) writeValue(array[i] as PropertyValue)
}

function writeCount(count: number, short: number, long: number): void {
  if (count < 16) target[at++] = short | count
  else if (count < 0x10000) writeSmall(long, 2, count)
  else writeSmall(long + 1, 4, count)
}

/** A tag and an unsigned integer of so many bytes. */
function writeSmall(tag: number, bytes: 1 | 2 | 4, value: number): void {
  target[at++] = tag
  if (bytes === 4) {
    target[at++] = value >>> 24
    target[at++] = value >>> 16
  }
  if (bytes >= 2) target[at++] = value >>> 8
  target[at++] = value
}

function writeNumber(value: number): void {
  if (value >>> 0 === value) {
    if (value < 0x80) target[at++] = value
    else if (value < 0x100) writeSmall(0xcc, 1, value)
    else if (value < 0x10000) writeSmall(0xcd, 2, value)
    else writeSmall(0xce, 4, value)
  } else if (value >> 0 === value) {
    if (value >= -0x20) target[at++] = value
    else if (value >= -0x80) writeSmall(0xd0, 1, value)
    else if (value >= -0x8000) writeSmall(0xd1, 2, value)
    else writeSmall(0xd2, 4, value)
  } else {
    target[at++] = 0xcb
    at = target.writeDoubleBE(value, at)
  }
}

function writeBigint(value: bigint): void {
  target[at++] = value < 2n ** 63n ? 0xd3 : 0xcf
  target.writeBigUInt64BE(BigInt.asUintN(64, value), at)
  at += 8
}

function writeText(text: string): void {
  const { length } = text
  // A unit of UTF-16 takes three bytes at most. Only where that would be much it is worth counting.
  reserve((length < 2 ** 20 ? 3 * length : Buffer.byteLength(text)) + 5)
  if (length <= SHORT_TEXT && writeAscii(text)) return
  // Mostly it takes a byte a unit. Where it takes more, and its head with it, the text is written once more.
  const guessed = length < 0x20 ? 1 : length < 0x100 ? 2 : length < 0x10000 ? 3 : 5
  const bytes = target.write(text, at + guessed)
  const head = bytes < 0x20 ? 1 : bytes < 0x100 ? 2 : bytes < 0x10000 ? 3 : 5
  if (head !== guessed) target.copyWithin(at + head, at + guessed, at + guessed + bytes)
  writeTextHead(bytes)
  at += bytes
}

/** Whether the text is ASCII; only then it is written. */
function writeAscii(text: string): boolean {
  const { length } = text
  const buffer = target
  const start = at + (length < 0x20 ? 1 : 2)
  for (let i = 0; i < length; i++) {
    const unit = text.charCodeAt(i)
    if (unit >= 0x80) return false
    buffer[start + i] = unit
  }
  writeTextHead(length)
  at += length
  return true
}

function writeTextHead(bytes: number): void {
  if (bytes < 0x20) target[at++] = 0xa0 | bytes
  else if (bytes < 0x100) writeSmall(0xd9, 1, bytes)
  else if (bytes < 0x10000) writeSmall(0xda, 2, bytes)
  else writeSmall(0xdb, 4, bytes)
}

function writeBytes(bytes: Uint8Array): void {
  const { length } = bytes
  if (length < 0x100) writeSmall(0xc4, 1, length)
  else if (length < 0x10000) writeSmall(0xc5, 2, length)
  else writeSmall(0xc6, 4, length)
  reserve(length)
  target.set(bytes, at)
  at += length
}

/** From 1970 to 2106 seconds of 32 bits, with nanoseconds where there are any; else 96 bits for both. */
function writeTime(time: number): void {
  const seconds = Math.floor(time / 1000)
  const nanoseconds = (time - seconds * 1000) * 1_000_000
  if (seconds >= 0 && seconds < 2 ** 32) {
    target[at++] = nanoseconds === 0 ? 0xd6 : 0xd7
    if (nanoseconds === 0) return writeSmall(0xff, 4, seconds)
    writeSmall(0xff, 4, nanoseconds * 4)
  } else {
    target[at++] = 0xc7
    target[at++] = 12
    writeSmall(0xff, 4, nanoseconds)
    at = target.writeInt32BE(Math.floor(seconds / 2 ** 32), at)
  }
  at = target.writeUInt32BE(seconds >>> 0, at)
}
