import type { Bag, PropertyValue } from '@looseleaf/core'
import type { Packr as PackrType } from 'msgpackr'
// The entry without msgpackr's native part, which is for reading, and would be loaded for nothing.
import { Packr, RESET_BUFFER_MODE } from 'msgpackr/pack'

/** msgpackr keeps the memory it packs into; more than this, taken for a large bag, is let go. */
const KEPT_BYTES = 256 * 1024

/**
 * Objects are plain maps of the least size (`variableMapSize` also lifts the limit of 65,535 properties), a bigint is an integer
 * of 64 bits, and an own property `toJSON` is one like any other.
 */
const packr: PackrType = new Packr({
  useRecords: false,
  variableMapSize: true,
  int64AsType: 'bigint',
  useToJSON: false,
  moreTypes: false,
})

/**
 * A bag that `copyBag` has made, or an array of its values, as MessagePack. What is returned stands in memory that the next
 * call writes to: whoever keeps it copies it.
 */
export function packMsgpack(value: Bag | readonly PropertyValue[]): Buffer {
  const packed = packr.pack(value, RESET_BUFFER_MODE)
  if (packed.buffer.byteLength > KEPT_BYTES) packr.useBuffer(Buffer.allocUnsafeSlow(8192))
  return packed
}
