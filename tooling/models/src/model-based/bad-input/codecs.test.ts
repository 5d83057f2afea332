import { crc32, deflateSync } from 'node:zlib'
import { envelopeCodec, jsonCodec, jsonFormat, msgpackFormat, msgpackZlibCodec } from '@looseleaf/codec'
import { MARKER, refuses } from './refusals.ts'

type Untyped = (...arguments_: readonly unknown[]) => unknown
const envelope = envelopeCodec as unknown as Untyped
const decode = msgpackZlibCodec().decode as unknown as Untyped
const own = { ...jsonFormat, id: 16, name: 'own' }

refuses('options of codecs', [
  ['options of null', () => envelope(null), 'BAD_OPTION', /options as an object; got null/],
  ['options in words', () => envelope(MARKER), 'BAD_OPTION', /options as an object; got a string/],
  ['a misspelt option', () => envelope({ maxBodySize: 5 }), 'BAD_OPTION', /no option "maxBodySize"/],
  ['a format of null', () => envelope({ format: null }), 'BAD_OPTION', /format.*null/],
  [
    'a format without encode',
    () => envelope({ format: { id: 17, name: 'x' } }),
    'BAD_OPTION',
    /encode of the format x has to be a function; got nothing/,
  ],
  ['alsoReads of null', () => envelope({ alsoReads: null }), 'BAD_OPTION', /alsoReads.*null/],
  [
    'one format for alsoReads',
    () => envelope({ alsoReads: jsonFormat }),
    'BAD_OPTION',
    /alsoReads.*an object/,
  ],
  ['null among alsoReads', () => envelope({ alsoReads: [null] }), 'BAD_OPTION', /alsoReads.*null/],
  ['a format by name', () => envelope({ format: 'json' }), 'BAD_OPTION', /format/],
  [
    'a format with id 0',
    () => envelope({ format: { ...own, id: 0 } }),
    'BAD_OPTION',
    /id of the format own.*1 to 31; got 0/,
  ],
  [
    'a format with id 32',
    () => envelope({ format: { ...own, id: 32 } }),
    'BAD_OPTION',
    /id of the format own.*got 32/,
  ],
  [
    'a format with half an id',
    () => envelope({ format: { ...own, id: 16.5 } }),
    'BAD_OPTION',
    /id of the format own/,
  ],
  [
    'a format with an id in digits',
    () => envelope({ format: { ...own, id: '16' } }),
    'BAD_OPTION',
    /id of the format own.*a string/,
  ],
  [
    'a format without an id',
    () => envelope({ format: { ...own, id: undefined } }),
    'BAD_OPTION',
    /id of the format own/,
  ],
  [
    'two formats of one id',
    () => envelope({ format: { ...own, id: msgpackFormat.id } }),
    'BAD_OPTION',
    /same id/,
  ],
  [
    'two formats of one id to read',
    () => envelope({ alsoReads: [own, { ...own, name: 'other' }] }),
    'BAD_OPTION',
    /own and other.*same id, 16/,
  ],
  [
    'a compression that there is not',
    () => envelope({ compression: 'gzip' }),
    'BAD_OPTION',
    /compression of envelopeCodec has to be 'zlib' or 'none'/,
  ],
  ['a compression of false', () => envelope({ compression: false }), 'BAD_OPTION', /compression/],
  ['a compression of null', () => envelope({ compression: null }), 'BAD_OPTION', /compression/],
  ['maxBodyBytes of 0', () => envelope({ maxBodyBytes: 0 }), 'BAD_OPTION', /maxBodyBytes.*got 0/],
  ['maxBodyBytes of NaN', () => envelope({ maxBodyBytes: Number.NaN }), 'BAD_OPTION', /maxBodyBytes.*NaN/],
  [
    'maxBodyBytes of 2 GiB',
    () => envelope({ maxBodyBytes: 2 ** 31 }),
    'BAD_OPTION',
    /maxBodyBytes.*got 2147483648/,
  ],
  [
    'maxBodyBytes in words',
    () => envelope({ maxBodyBytes: '8 MiB' }),
    'BAD_OPTION',
    /maxBodyBytes.*a string/,
  ],
])

/** Returns a body with a valid checksum. */
function body(format: number, flags: number, rawLength: number, payload: Uint8Array): Buffer {
  const head = Buffer.alloc(10)
  head[0] = format
  head[1] = flags
  head.writeUInt32BE(rawLength, 2)
  head.writeUInt32BE(crc32(payload, crc32(head.subarray(0, 6))), 6)
  return Buffer.concat([head, payload])
}

const whole = jsonCodec().encode({ name: MARKER })
const payload = whole.subarray(10)
const json = (text: string): Buffer => body(jsonFormat.id, 0, Buffer.byteLength(text), Buffer.from(text))
const packed = (...bytes: number[]): Buffer => body(msgpackFormat.id, 0, bytes.length, Uint8Array.from(bytes))

refuses('bodies', [
  ['null', () => decode(null), 'BODY_DAMAGED', /has to be bytes; got null/],
  ['nothing', () => decode(), 'BODY_DAMAGED', /has to be bytes; got nothing/],
  ['a text', () => decode(`{"a":"${MARKER}"}`), 'BODY_DAMAGED', /has to be bytes; got a string/],
  ['an array', () => decode([1, 2, 3]), 'BODY_DAMAGED', /has to be bytes; got an array/],
  ['no bytes', () => decode(new Uint8Array()), 'BODY_DAMAGED', /shorter than its header/],
  ['a part of a header', () => decode(whole.subarray(0, 9)), 'BODY_DAMAGED', /shorter than its header/],
  ['a header alone', () => decode(whole.subarray(0, 10)), 'BODY_DAMAGED', /checksum/],
  ['one that ends early', () => decode(whole.subarray(0, -1)), 'BODY_DAMAGED', /checksum/],
  ['one with a byte more', () => decode(Buffer.concat([whole, Buffer.alloc(1)])), 'BODY_DAMAGED', /checksum/],
  [
    'one with a bit flipped',
    () => decode(whole.map((byte, i) => (i === 15 ? byte ^ 1 : byte))),
    'BODY_DAMAGED',
    /checksum/,
  ],
  [
    'one with its format changed',
    () => decode(whole.map((byte, i) => (i === 0 ? byte + 1 : byte))),
    'BODY_DAMAGED',
    /checksum/,
  ],
  ['plain JSON', () => decode(Buffer.from(JSON.stringify({ name: MARKER }))), 'BODY_DAMAGED', /checksum/],
  ['plain zlib', () => decode(deflateSync(JSON.stringify({ name: MARKER }))), 'BODY_DAMAGED', /checksum/],
  [
    'a pickle',
    () => decode(Buffer.from('gAN9cQBYBAAAAG5hbWVxAVgBAAAAeHECcy4=', 'base64')),
    'BODY_DAMAGED',
    /checksum/,
  ],
  ['zeros', () => decode(new Uint8Array(100)), 'BODY_DAMAGED', /checksum/],
  [
    'an unknown format',
    () => decode(body(31, 0, 2, Buffer.from('{}'))),
    'BODY_UNKNOWN',
    /format 31 with flags 0/,
  ],
  ['format 0', () => decode(body(0, 0, 2, Buffer.from('{}'))), 'BODY_UNKNOWN', /format 0/],
  ['an unknown flag', () => decode(body(jsonFormat.id, 4, 2, Buffer.from('{}'))), 'BODY_UNKNOWN', /flags 4/],
  [
    'one that says it is larger than the limit',
    () => decode(body(jsonFormat.id, 1, 2 ** 31, deflateSync('{}'))),
    'BODY_TOO_LARGE',
    /maxBodyBytes/,
  ],
  [
    'one that grows beyond what it says',
    () => decode(body(jsonFormat.id, 1, 10, deflateSync(' '.repeat(1_000_000)))),
    'BODY_DAMAGED',
    /cannot be expanded/,
  ],
  [
    'one that grows to less than it says',
    () => decode(body(jsonFormat.id, 1, 10, deflateSync('{}'))),
    'BODY_DAMAGED',
    /length/,
  ],
  [
    'one that is longer than it says',
    () => decode(body(jsonFormat.id, 0, 5, payload)),
    'BODY_DAMAGED',
    /length/,
  ],
  [
    'one with bytes behind its compressed part',
    () => decode(body(jsonFormat.id, 1, 2, Buffer.concat([deflateSync('{}'), Buffer.from(MARKER)]))),
    'BODY_DAMAGED',
    /bytes follow/,
  ],
  [
    'no zlib where it says so',
    () => decode(body(jsonFormat.id, 1, payload.length, payload)),
    'BODY_DAMAGED',
    /cannot be expanded/,
  ],
  [
    'JSON that ends early',
    () => decode(json(`{"name":"${MARKER}`)),
    'BODY_DAMAGED',
    /^A stored body cannot be decoded: \w/,
  ],
  [
    'JSON that is no object',
    () => decode(json('[1]')),
    'BODY_DAMAGED',
    /^A stored body cannot be decoded: \w/,
  ],
  ['JSON null', () => decode(json('null')), 'BODY_DAMAGED', /^A stored body cannot be decoded: \w/],
  [
    'JSON with __proto__',
    () => decode(json('{"__proto__":{"a":1}}')),
    'BODY_DAMAGED',
    /^A stored body cannot be decoded: \w/,
  ],
  [
    'bytes that are no UTF-8',
    () => decode(body(jsonFormat.id, 0, 4, Uint8Array.of(0x22, 0xff, 0xfe, 0x22))),
    'BODY_DAMAGED',
    /^A stored body cannot be decoded: \w/,
  ],
  ['msgpack nil', () => decode(packed(0xc0)), 'BODY_DAMAGED', /^A stored body cannot be decoded: \w/],
  [
    'msgpack of an array',
    () => decode(packed(0x91, 1)),
    'BODY_DAMAGED',
    /^A stored body cannot be decoded: \w/,
  ],
  [
    'msgpack of the byte that is never used',
    () => decode(packed(0x81, 0xa1, 0x61, 0xc1)),
    'BODY_DAMAGED',
    /^A stored body cannot be decoded: \w/,
  ],
  [
    'msgpack that ends early',
    () => decode(packed(0x82, 0xa1, 0x61, 1)),
    'BODY_DAMAGED',
    /^A stored body cannot be decoded: \w/,
  ],
  [
    'msgpack of two values',
    () => decode(packed(0x80, 0x80)),
    'BODY_DAMAGED',
    /^A stored body cannot be decoded: \w/,
  ],
  [
    'msgpack that promises 4 billion elements',
    () => decode(packed(0x81, 0xa1, 0x61, 0xdd, 0xff, 0xff, 0xff, 0xff)),
    'BODY_DAMAGED',
    /^A stored body cannot be decoded: \w/,
  ],
  [
    'msgpack of an extension',
    () => decode(packed(0x81, 0xa1, 0x61, 0xd4, 0x72, 0x40)),
    'BODY_DAMAGED',
    /^A stored body cannot be decoded: \w/,
  ],
  [
    'msgpack nested without end',
    () => decode(packed(...Array<number>(10_000).fill(0x91))),
    'BODY_DAMAGED',
    /^A stored body cannot be decoded: \w/,
  ],
])
