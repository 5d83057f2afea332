import { KIND_PROPERTY } from '@looseleaf/core/internal'
import { damaged } from './damaged.ts'
import type { Shape } from './shape.ts'

/** The name `_kind` in its shortest form, as this codec packs it: a tag with the length, and the bytes. */
const NAME = Buffer.from([0xa0 + KIND_PROPERTY.length, ...Buffer.from(KIND_PROPERTY)])

/** Returns the text of `_kind` in the MessagePack bytes of a bag, without building the bag; undefined without such a text. */
export function kindInBag(raw: Buffer): string | undefined {
  const tag = raw[0] as number
  const isShort = (tag & 0xf0) === 0x80
  let at = isShort ? 1 : tag === 0xde ? 3 : 5
  let names = isShort ? tag & 0x0f : lengthAt(raw, 1, at - 1)
  for (; names > 0; names--) {
    const isKind = hasName(raw, at)
    at = skip(raw, at, 1)
    if (isKind) return textAt(raw, at)
    at = skip(raw, at, 1)
  }
  return undefined
}

/** As `kindInBag`, for the array of a bag's values by a shape. */
export function kindInValues(raw: Buffer, { names }: Shape): string | undefined {
  const place = names.indexOf(KIND_PROPERTY)
  if (place === -1) return undefined
  const tag = raw[0] as number
  return textAt(raw, skip(raw, tag < 0xa0 ? 1 : tag === 0xdc ? 3 : 5, place))
}

function hasName(raw: Buffer, at: number): boolean {
  // Another writer may have packed the name in a longer form.
  if ((raw[at] as number) >= 0xd9) return textAt(raw, at) === KIND_PROPERTY
  for (let i = 0; i < NAME.length; i++) if (raw[at + i] !== NAME[i]) return false
  return true
}

function textAt(raw: Buffer, at: number): string | undefined {
  const tag = raw[at] as number
  if (tag >= 0xa0 && tag < 0xc0) return raw.toString('utf8', at + 1, at + 1 + (tag & 0x1f))
  if (tag < 0xd9 || tag > 0xdb) return undefined
  const bytes = 1 << (tag - 0xd9)
  const start = at + 1 + bytes
  return raw.toString('utf8', start, start + lengthAt(raw, at + 1, bytes))
}

/** Form of the values with a tag, from 0xc4 on. */
interface Head {
  /** Bytes of the length that follows the tag. */
  readonly lengthBytes: number
  /** Bytes that follow whatever the length is, and those that follow for each of the length. */
  readonly bytes: number
  readonly bytesEach: number
  /** Values that follow for each of the length. */
  readonly valuesEach: number
}

const EMPTY: Head = { lengthBytes: 0, bytes: 0, bytesEach: 0, valuesEach: 0 }
const fixed = (bytes: number): Head => ({ ...EMPTY, bytes })
const counted = (lengthBytes: number, bytes = 0): Head => ({ ...EMPTY, lengthBytes, bytes, bytesEach: 1 })
const nested = (lengthBytes: number, valuesEach: number): Head => ({ ...EMPTY, lengthBytes, valuesEach })

const HEADS: Readonly<Record<number, Head>> = {
  0xc4: counted(1),
  0xc5: counted(2),
  0xc6: counted(4),
  0xc7: counted(1, 1),
  0xca: fixed(4),
  0xcb: fixed(8),
  0xcc: fixed(1),
  0xcd: fixed(2),
  0xce: fixed(4),
  0xcf: fixed(8),
  0xd0: fixed(1),
  0xd1: fixed(2),
  0xd2: fixed(4),
  0xd3: fixed(8),
  0xd6: fixed(5),
  0xd7: fixed(9),
  0xd9: counted(1),
  0xda: counted(2),
  0xdb: counted(4),
  0xdc: nested(2, 1),
  0xdd: nested(4, 1),
  0xde: nested(2, 2),
  0xdf: nested(4, 2),
}

/** Reads a length of 0, 1, 2 or 4 bytes. */
function lengthAt(raw: Buffer, at: number, bytes: number): number {
  if (bytes === 0) return 0
  if (at + bytes > raw.length) throw damaged('it ends too early')
  return raw.readUIntBE(at, bytes)
}

/** Returns the offset behind so many values. Throws `BODY_DAMAGED` if the bytes end before, and for a tag that no bag has. */
function skip(raw: Buffer, start: number, values: number): number {
  let at = start
  for (let pending = values; pending > 0; pending--) {
    if (at >= raw.length) throw damaged('it ends too early')
    const tag = raw[at++] as number
    if (tag < 0x80 || tag >= 0xe0 || tag === 0xc0 || tag === 0xc2 || tag === 0xc3) continue
    if (tag < 0x90) pending += 2 * (tag & 0x0f)
    else if (tag < 0xa0) pending += tag & 0x0f
    else if (tag < 0xc0) at += tag & 0x1f
    else {
      const head = HEADS[tag]
      if (head === undefined) throw damaged('it holds a type that no bag has')
      const length = lengthAt(raw, at, head.lengthBytes)
      at += head.lengthBytes + head.bytes + length * head.bytesEach
      pending += length * head.valuesEach
    }
  }
  return at
}
