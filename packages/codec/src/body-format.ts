import type { Bag } from '@looseleaf/core'

/**
 * Encodes a bag to bytes and decodes it. The envelope adds the checksum, the compression and the limit of bytes, so a format only
 * has to be exact: `decode(encode(bag))` equals the bag, without undefined properties.
 */
export interface BodyFormat {
  /** First byte of every body. 1 to 15 are reserved for Looseleaf; your formats use 16 to 31. */
  readonly id: number
  /** Name of the format in the codec's name and in messages. */
  readonly name: string
  /** Encodes a bag, which is a frozen copy of `copyBag`. */
  encode(bag: Bag): Uint8Array
  /**
   * Decodes bytes that have passed the checksum. The bag must not be a view of the bytes. Throws `BODY_TOO_LARGE` for more than
   * `MAX_VALUES` values before it builds them, because the envelope can check that only afterwards. `BODY_DAMAGED` and `BODY_UNKNOWN`
   * are passed on too. Any other error becomes `BODY_UNKNOWN`: another process may have the right key or version.
   */
  decode(bytes: Uint8Array): Bag
}
