/** Convert values of database clients, which differ, to those of the ports. */

/** Converts a number, a bigint or decimal text below 2^53. */
export function toNumber(value: unknown): number {
  return typeof value === 'number' ? value : Number(value)
}

/** Converts a 64-bit integer from a number, a bigint or decimal text. */
export function toBigInt(value: unknown): bigint {
  return typeof value === 'bigint' ? value : BigInt(value as number | string)
}

/** Converts text from a string or from its UTF-8 bytes. */
export function toText(value: unknown): string {
  return typeof value === 'string' ? value : Buffer.from(value as Uint8Array).toString('utf8')
}

/** Returns the number of rows that a write reports. */
export function toCount(affected: bigint | undefined): number {
  return Number(affected ?? 0n)
}
