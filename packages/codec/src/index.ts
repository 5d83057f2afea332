export type { BodyFormat } from './body-format.ts'
export { envelopeCodec, jsonCodec, jsonZlibCodec, msgpackZlibCodec } from './envelope-codec.ts'
export { jsonFormat } from './json-format.ts'
export { msgpackFormat } from './msgpack-format.ts'
