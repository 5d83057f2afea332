import { crc32 } from 'node:zlib'

/** Makes a body with a valid checksum from any parts, even ones that no codec writes. */
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
