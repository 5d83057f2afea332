import { createHash } from 'node:crypto'

/** Returns keys of many lengths, the empty and the longest one, and close neighbours. The same in every run. */
export function keysOfAllKinds(): Uint8Array[] {
  const keys: Uint8Array[] = [new Uint8Array(0)]
  for (let i = 0; i < 300; i++) keys.push(Buffer.from(`key ${i}`), digest(i).subarray(0, 1 + (i % 20)))
  for (const length of [64, 512, 544]) keys.push(new Uint8Array(length), new Uint8Array(length).fill(255))
  return keys
}

/** Returns ids of every version and variant, the lowest and the highest one, and close neighbours. The same in every run. */
export function idsOfAllKinds(): Uint8Array[] {
  const ids: Uint8Array[] = [new Uint8Array(16), new Uint8Array(16).fill(255)]
  for (let i = 0; i < 320; i++) {
    const id = Uint8Array.from(digest(i).subarray(0, 16))
    id[6] = ((i % 16) << 4) | (id[6]! & 0x0f)
    // Four in five have the variant of RFC 9562; the others have any.
    if (i % 5 !== 0) id[8] = 0x80 | (id[8]! & 0x3f)
    ids.push(id)
  }
  for (let i = 0; i < 16; i++) {
    const neighbour = new Uint8Array(16)
    neighbour[15] = i
    ids.push(neighbour)
  }
  return ids
}

function digest(i: number): Buffer {
  return createHash('sha256').update(`case ${i}`).digest()
}
