import type { Bag } from '../bag.ts'

/** Bags of properties to stored bodies and back. */
export interface Codec {
  /** Named in errors and in `status`. */
  readonly name: string
  /**
   * The body of a bag: never empty, and enough by itself to be decoded. Does not change the bag.
   * Throws `BAD_PROPERTY` with the path to what cannot be stored, `BODY_TOO_LARGE` above the codec's limit of bytes and for
   * more than `MAX_VALUES` values. `copyBag` does both checks but that of bytes, and costs nothing for what a store gives,
   * which is such a copy already.
   */
  encode(bag: Bag): Uint8Array
  /**
   * The bag of a body that this codec, or one that it knows to read, has encoded: a new one with each call, down to its bytes, for
   * whoever asks to change. Bounded in memory whatever the bytes are.
   * Throws `BODY_UNKNOWN` for a format it does not know, `BODY_TOO_LARGE` for a whole body whose header says that it is above
   * the codec's limit or that has more than `MAX_VALUES` values, before they are built, and `BODY_DAMAGED` for anything
   * else that is not exactly what was encoded.
   */
  decode(body: Uint8Array): Bag
  /**
   * How many bytes a body stands for before it was compressed, by its own word; for bounds on memory. Never throws. Without
   * this method a body stands for its own length.
   */
  decodedBytes?(body: Uint8Array): number
}
