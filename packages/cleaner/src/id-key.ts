/** A string that stands for the 16 bytes of an id in maps and sets. */
export function idKey(id: Uint8Array): string {
  return Buffer.from(id.buffer, id.byteOffset, id.length).toString('latin1')
}
