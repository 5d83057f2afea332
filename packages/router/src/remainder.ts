const LOW_62_BITS = (1n << 62n) - 1n

/** The remainder of 16 bytes taken as one integer, two bytes at a time. Exact for divisors below 2^37. */
export function remainderOf(id: Uint8Array, divisor: number): number {
  let remainder = 0
  for (let i = 0; i < id.length; i += 2) {
    remainder = (remainder * 0x1_0000 + (id[i] as number) * 0x100 + (id[i + 1] as number)) % divisor
  }
  return remainder
}

/** The id with its 62 last bits moved, by less than the divisor, to where the whole has this remainder. Changes and gives the same array. */
export function withRemainder(id: Uint8Array, remainder: number, divisor: number): Uint8Array {
  const view = new DataView(id.buffer, id.byteOffset, id.byteLength)
  const tail = view.getBigUint64(8)
  const step = BigInt((remainder - remainderOf(id, divisor) + divisor) % divisor)
  const moved = (tail & LOW_62_BITS) + step
  // At the upper end of the 62 bits, the next fitting number below is taken.
  const fitting = moved > LOW_62_BITS ? moved - BigInt(divisor) : moved
  view.setBigUint64(8, (tail & ~LOW_62_BITS) | fitting)
  return id
}

/** Of two integers whose product is a safe integer. */
export function leastCommonMultiple(a: number, b: number): number {
  let [x, y] = [a, b]
  while (y !== 0) [x, y] = [y, x % y]
  return (a / x) * b
}
