import { copyBag } from '@looseleaf/core'
import type { BodyFormat } from './body-format.ts'
import { readMsgpack } from './msgpack-read.ts'
import { writeMsgpack } from './msgpack-write.ts'

/** MessagePack, compact and quick: the default. Format 1. */
export const msgpackFormat: BodyFormat = {
  id: 1,
  name: 'msgpack',
  encode: (bag) => writeMsgpack(copyBag(bag)),
  decode: readMsgpack,
}
