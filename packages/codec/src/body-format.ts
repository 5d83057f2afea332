import type { Bag } from '@looseleaf/core'

/**
 * One way to turn a bag into bytes. The envelope around it brings the checksum, the compression and the limit of bytes,
 * so a format only has to be exact: `decode(encode(bag))` is the bag again, without what is undefined.
 */
export interface BodyFormat {
  /** Stored in the first byte of every body, 1 to 31. Looseleaf keeps 1 to 15 for itself; your own take 16 to 31. */
  readonly id: number
  /** Part of the codec's name and of messages. */
  readonly name: string
  /** The bytes of a bag. The envelope gives what `copyBag` has made; it is frozen. */
  encode(bag: Bag): Uint8Array
  /**
   * The bag of bytes that have passed the checksum. Throws `BODY_TOO_LARGE` for more than `MAX_VALUES` values, before it builds
   * them: the envelope only finds that out afterwards. Whatever else it throws becomes `BODY_DAMAGED`. It must not keep a view of the bytes.
   */
  decode(bytes: Uint8Array): Bag
}
