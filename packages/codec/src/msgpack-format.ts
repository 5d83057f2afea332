import { copyBag } from '@looseleaf/core'
import type { BodyFormat } from './body-format.ts'
import { packMsgpack } from './msgpack-pack.ts'
import { readMsgpack } from './msgpack-read.ts'

/** Format 1, the default: MessagePack, compact and quick. */
export const msgpackFormat: BodyFormat = {
  id: 1,
  name: 'msgpack',
  encode: (bag) => Buffer.from(packMsgpack(copyBag(bag))),
  decode: readMsgpack,
}
