/** How database clients hand over values, and what the ports want them to be. */

/** An integer below 2^53 that came as a number, a bigint or decimal text. */
export function toNumber(value: unknown): number {
  return typeof value === 'number' ? value : Number(value)
}

/** An integer of 64 bits that came as a number, a bigint or decimal text. */
export function toBigInt(value: unknown): bigint {
  return typeof value === 'bigint' ? value : BigInt(value as number | string)
}

/** Text that came as a string or as its UTF-8 bytes. */
export function toText(value: unknown): string {
  return typeof value === 'string' ? value : Buffer.from(value as Uint8Array).toString('utf8')
}

/** Rows that a write has matched. */
export function toCount(affected: bigint | undefined): number {
  return Number(affected ?? 0n)
}
