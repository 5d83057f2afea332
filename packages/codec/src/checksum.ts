import { crc32 } from 'node:zlib'

/** CRC-32 of each byte. */
const TABLE = Int32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte
  for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ ((crc & 1) * 0xedb88320)
  return crc
})

/**
 * Returns the CRC-32 of the first `head` bytes followed by the payload. A loop over the few bytes of the head is quicker than another
 * call of zlib.
 */
export function checksum(body: Uint8Array, head: number, payload: Uint8Array): number {
  let crc = -1
  for (let i = 0; i < head; i++) crc = (crc >>> 8) ^ (TABLE[(crc ^ (body[i] as number)) & 0xff] as number)
  return crc32(payload, ~crc >>> 0)
}
