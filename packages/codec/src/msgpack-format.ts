import { copyBag, type Bag, type PropertyValue } from '@looseleaf/core'
import type { Packr as PackrType } from 'msgpackr'
// The entry without msgpackr's native part, which is slow for text that is not ASCII, and whose strings keep whole bodies in memory.
import { addExtension, Packr, RESET_BUFFER_MODE } from 'msgpackr/pack'
import type { BodyFormat } from './body-format.ts'
import { damaged } from './damaged.ts'
import { MARKED_TEXT_EXTENSION, scanMsgpack } from './msgpack-scan.ts'

/** msgpackr keeps the memory it packs into; more than this, taken for a large bag, is let go. */
const KEPT_BYTES = 256 * 1024

/**
 * Objects are plain maps of the least size (`variableMapSize` also lifts the limit of 65,535 properties), a bigint is an integer
 * of 64 bits in both directions, an own property `toJSON` is one like any other, and bytes that were read have memory of their own.
 */
const packr: PackrType = new Packr({
  useRecords: false,
  variableMapSize: true,
  int64AsType: 'bigint',
  useToJSON: false,
  moreTypes: false,
  copyBuffers: true,
})

// Extensions are common to all users of msgpackr in a process; negative types are kept for MessagePack itself, and this is unused.
addExtension({
  type: MARKED_TEXT_EXTENSION,
  unpack: (bytes: Uint8Array) => `\ufeff${Buffer.from(bytes.subarray(2)).toString()}`,
})

/** MessagePack by msgpackr: compact and quick, the default. Format 1. */
export const msgpackFormat: BodyFormat = {
  id: 1,
  name: 'msgpack',
  encode(bag) {
    // What is packed stands in memory that the next call writes to.
    const packed = packr.pack(copyBag(bag), RESET_BUFFER_MODE)
    const bytes = Buffer.from(packed)
    if (packed.buffer.byteLength > KEPT_BYTES) packr.useBuffer(Buffer.allocUnsafeSlow(8192))
    return bytes
  },
  decode(bytes) {
    const scanned = scanMsgpack(bytes)
    // As a plain array, of which msgpackr makes plain arrays again, where of a Buffer it makes Buffers.
    const source = scanned.bytes
    const bag: Bag = packr.unpack(new Uint8Array(source.buffer, source.byteOffset, source.length)) as Bag
    if (countProperties(bag) !== scanned.properties) throw damaged('a property name is repeated')
    return bag
  },
}

function countProperties(object: { readonly [name: string]: PropertyValue | undefined }): number {
  const names = Object.keys(object)
  let count = names.length
  for (const name of names) count += countWithin(object[name])
  return count
}

function countWithin(value: PropertyValue | undefined): number {
  if (typeof value !== 'object' || value === null) return 0
  if (Array.isArray(value)) {
    let count = 0
    for (const element of value as readonly PropertyValue[]) count += countWithin(element)
    return count
  }
  if (value instanceof Date || value instanceof Uint8Array) return 0
  return countProperties(value as Bag)
}
