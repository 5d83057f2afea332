import type { Bag } from '../entities/bag.ts'
import type { CodecEntry, StoredCodecEntry } from './codec-entry-table.ts'

/** Encodes bags to stored bodies, and decodes them. */
export interface Codec {
  /** Name in errors and in `looseleaf status`. */
  readonly name: string
  /**
   * Encodes a bag, without changing it. The body is never empty. It can be decoded by itself, or with confirmed codec entries.
   *
   * Throws `BAD_PROPERTY` with the path to a value that cannot be stored, and `BODY_TOO_LARGE` above the codec's limit of bytes
   * or for more than `MAX_VALUES` values. `copyBag` checks everything but the bytes, and costs nothing for a bag of a store, which
   * is such a copy already.
   */
  encode(bag: Bag): Uint8Array
  /**
   * Decodes a body of this codec, or of one that it can read. Each call returns a new bag, down to its bytes, which the caller may
   * change. Memory is bounded, whatever the bytes are.
   *
   * Throws
   * - `BODY_UNKNOWN` for a format that the codec does not know, or a codec entry that `StoreCodec.codecEntries` lacks;
   * - `BODY_TOO_LARGE` for an intact body whose header announces more than the codec's limit, or that has more than
   *   `MAX_VALUES` values, before it builds them;
   * - `BODY_DAMAGED` for any other bytes that no encoding produced.
   */
  decode(body: Uint8Array): Bag
  /**
   * Returns the text of `_kind` in a body, the name of the entity's kind; undefined for a bag without one. Consumers of some kinds call it for
   * the changes of all entities, so it should be quicker than `decode`. Throws for a body whose envelope `decode` would refuse, and need
   * not check the other values. Without this method such bodies are decoded.
   */
  kindOf?(body: Uint8Array): string | undefined
  /**
   * Returns the uncompressed size of a body in bytes according to its header, for bounds on memory. Never throws. Without this
   * method the length of the body counts.
   */
  decodedBytes?(body: Uint8Array): number
  /** Describes a body for people; undefined if it is damaged or not a body. Never throws. */
  describe?(body: Uint8Array): BodyDescription | undefined
  /**
   * Creates a codec for one store, whose bodies may refer to codec entries that are stored beside them. A store calls this when
   * it is opened, and supplies the entries.
   */
  forStore?(): StoreCodec
}

/** Layout of a body: a header with the ids of codec entries, and the payload. */
export interface BodyDescription {
  /** Name of the format, such as `msgpack`; its number if this codec does not know it. */
  readonly format: string
  readonly compression: 'none' | 'zlib' | 'dictionary'
  /** Bytes of the header, including the ids of codec entries. The payload follows. */
  readonly headerBytes: number
  /** Uncompressed bytes of the payload. */
  readonly plainBytes: number
  /** Ids of the codec entries that the body refers to, as in `CodecEntryTable`. */
  readonly shape: string | undefined
  readonly dictionary: string | undefined
}

/** A codec with the codec entries of one store. Starts without entries. */
export interface StoreCodec extends Codec {
  readonly codecEntries: CodecEntries
}

/** The codec entries that a store exchanges with its codec. All methods are synchronous and do no I/O. */
export interface CodecEntries {
  /** Whether `wanted` may ever return entries, for which the store then prepares. */
  readonly writes: boolean
  /**
   * Returns the unknown ids that a body refers to: nearly always the same empty list. Called for a body that is `BODY_UNKNOWN`, and for each
   * body of reads of many rows, such as scans, changes and cleaning. Never throws.
   */
  missing(body: Uint8Array): readonly string[]
  /** Adds a stored entry for reading. Returns false if its id does not match its content, or if this codec does not know its kind. */
  learn(entry: StoredCodecEntry): boolean
  /** Lets bodies refer to an entry. The caller has stored it on every shard, and every process can look it up. */
  confirm(id: string): void
  /** Returns the entries that bodies would refer to if they were confirmed. */
  wanted(): readonly CodecEntry[]
  /** Builds a dictionary of at most this many bytes from the common text of these bags. The codec uses it only once it was learned. */
  train(bags: readonly Bag[], bytes: number): CodecEntry
  /** Returns all known entries. */
  known(): readonly StoredCodecEntry[]
}
