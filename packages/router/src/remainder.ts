const LOW_62_BITS = (1n << 62n) - 1n

/** Returns the remainder of 16 bytes as one integer (big endian). Exact for divisors below 2^37. */
export function remainderOf(id: Uint8Array, divisor: number): number {
  let remainder = 0
  for (let i = 0; i < id.length; i += 2) {
    remainder = (remainder * 0x1_0000 + (id[i] as number) * 0x100 + (id[i + 1] as number)) % divisor
  }
  return remainder
}

/** Changes the last 62 bits of an id, by less than the divisor, so that the id has this remainder. Returns the same array. */
export function withRemainder(id: Uint8Array, remainder: number, divisor: number): Uint8Array {
  const view = new DataView(id.buffer, id.byteOffset, id.byteLength)
  const tail = view.getBigUint64(8)
  const step = BigInt((remainder - remainderOf(id, divisor) + divisor) % divisor)
  const moved = (tail & LOW_62_BITS) + step
  // Above the range of 62 bits, the next lower number with this remainder fits.
  const fitting = moved > LOW_62_BITS ? moved - BigInt(divisor) : moved
  view.setBigUint64(8, (tail & ~LOW_62_BITS) | fitting)
  return id
}

/** Returns the least common multiple of two integers whose product is a safe integer. */
export function leastCommonMultiple(a: number, b: number): number {
  let [x, y] = [a, b]
  while (y !== 0) [x, y] = [y, x % y]
  return (a / x) * b
}
