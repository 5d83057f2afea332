import { crc32 } from 'node:zlib'

/** A body as an envelope codec would make it, of parts that it never would. */
export function envelope(parts: {
  format?: number
  flags?: number
  rawLength: number
  payload: Uint8Array
}): Uint8Array {
  const header = Buffer.alloc(10)
  header[0] = parts.format ?? 1
  header[1] = parts.flags ?? 0
  header.writeUInt32BE(parts.rawLength, 2)
  header.writeUInt32BE(crc32(parts.payload, crc32(header.subarray(0, 6))), 6)
  return Buffer.concat([header, parts.payload])
}
