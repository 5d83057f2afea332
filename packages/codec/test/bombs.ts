import { deflateSync } from 'node:zlib'
import { envelope } from './envelope.ts'

/** Makes bodies of a format with many values. */
export interface BombMaker {
  readonly id: number
  /** Encodes a bag whose only property `a` is an array of these encoded elements. */
  bytesOf(elements: readonly Uint8Array[]): Uint8Array
  /** Encoded elements, with the number of values of each. */
  readonly elements: readonly (readonly [bytes: Uint8Array, values: number])[]
}

const hex = (text: string): Uint8Array => Buffer.from(text, 'hex')
const text = (json: string): Uint8Array => Buffer.from(json)

export const msgpackBombs: BombMaker = {
  id: 1,
  bytesOf(elements) {
    const head = hex('81a161dd00000000')
    Buffer.from(head.buffer, head.byteOffset).writeUInt32BE(elements.length, 4)
    return Buffer.concat([head, ...elements])
  },
  elements: [
    [hex('c0'), 1],
    [hex('80'), 1],
    [hex('90'), 1],
    [hex('c400'), 1],
    [hex('d6ff00000001'), 1],
    [hex('cf7fffffffffffffff'), 1],
    [hex('81a162c0'), 2],
    [hex('9280a0'), 3],
    [hex('919190'), 3],
    [hex('82a16280a16393c0c0c0'), 6],
  ],
}

export const jsonBombs: BombMaker = {
  id: 2,
  bytesOf: (elements) => Buffer.concat([text('{"a":['), text(elements.map(String).join(',')), text(']}')]),
  elements: [
    [text('0'), 1],
    [text('{}'), 1],
    [text(' [ ] '), 1],
    [text('"],[\\\\\\"{,"'), 1],
    [text('{"$bytes":""}'), 1],
    [text('{ "$date" : "2009-02-27T01:10:46.123Z" }'), 1],
    [text('{"$bigint":"9007199254740993"}'), 1],
    [text('{"b":null}'), 2],
    [text('["$",{"$$x":1}]'), 4],
    [text('[{ },""]'), 3],
    [text('[[[]]]'), 3],
    [text('{"b":{},"$$":[1,2,3]}'), 6],
  ],
}

/** Makes a compressed body of these bytes. */
export function compressedBody({ id }: BombMaker, bytes: Uint8Array): Uint8Array {
  return envelope({ format: id, flags: 1, rawLength: bytes.length, payload: deflateSync(bytes) })
}

/** Makes a body of this many empty arrays. */
export function bodyOfArrays(maker: BombMaker, count: number): Uint8Array {
  const empty = maker === jsonBombs ? text('[]') : hex('90')
  return compressedBody(maker, maker.bytesOf(Array.from({ length: count }, () => empty)))
}
