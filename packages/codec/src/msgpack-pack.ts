import type { Bag, PropertyValue } from '@looseleaf/core'
import type { Packr as PackrType } from 'msgpackr'
// This entry loads no native part, which msgpackr needs for reading only.
import { Packr, RESET_BUFFER_MODE } from 'msgpackr/pack'

/** Largest buffer that msgpackr keeps between calls. A larger one, made for a large bag, is released. */
const KEPT_BYTES = 256 * 1024

/**
 * Objects are plain maps of the smallest form; `variableMapSize` also allows more than 65,535 properties. A bigint is an integer
 * of 64 bits. An own property `toJSON` has no special meaning.
 */
const packr: PackrType = new Packr({
  useRecords: false,
  variableMapSize: true,
  int64AsType: 'bigint',
  useToJSON: false,
  moreTypes: false,
})

/**
 * Packs a copy of `copyBag`, or an array of its values, as MessagePack. The next call may overwrite the result, so copy it to
 * keep it.
 */
export function packMsgpack(value: Bag | readonly PropertyValue[]): Buffer {
  const packed = packr.pack(value, RESET_BUFFER_MODE)
  if (packed.buffer.byteLength > KEPT_BYTES) packr.useBuffer(Buffer.allocUnsafeSlow(8192))
  return packed
}
