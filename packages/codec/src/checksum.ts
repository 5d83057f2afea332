import { crc32 } from 'node:zlib'

/** Of each byte, as in every implementation of CRC-32. */
const TABLE = Int32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte
  for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ ((crc & 1) * 0xedb88320)
  return crc
})

/**
 * The CRC-32 of the first `head` bytes and the payload, as if they were side by side. The few bytes of the head are quicker to go through here
 * than by another call of zlib.
 */
export function checksum(body: Uint8Array, head: number, payload: Uint8Array): number {
  let crc = -1
  for (let i = 0; i < head; i++) crc = (crc >>> 8) ^ (TABLE[(crc ^ (body[i] as number)) & 0xff] as number)
  return crc32(payload, ~crc >>> 0)
}
