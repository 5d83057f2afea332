import type { Bag } from '../bag.ts'
import type { Definition, StoredDefinition } from './definition-table.ts'

/** Bags of properties to stored bodies and back. */
export interface Codec {
  /** Named in errors and in `status`. */
  readonly name: string
  /**
   * The body of a bag: never empty, and enough to be decoded, by itself or with definitions that are confirmed. Does not change the bag.
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
  /** What a body says of itself, for people; undefined for one that is damaged or of something else. Never throws. */
  describe?(body: Uint8Array): BodyDescription | undefined
  /**
   * A codec of one store, for one whose bodies may refer to definitions that are stored beside them. A store asks for it
   * when it is opened, and keeps it supplied.
   */
  forStore?(): StoreCodec
}

/** How a body is laid out: a header, what it refers to, and the payload. */
export interface BodyDescription {
  /** The name of its format, such as `msgpack`; its number where that is not known here. */
  readonly format: string
  readonly compression: 'none' | 'zlib' | 'dictionary'
  /** Bytes of the header, the ids of definitions included; what follows is the payload. */
  readonly headerBytes: number
  /** Bytes of the payload before it was compressed. */
  readonly plainBytes: number
  /** The ids of the definitions that it refers to, as `DefinitionTable` has them. */
  readonly shape: string | undefined
  readonly dictionary: string | undefined
}

/** A codec that knows the definitions of one store. Starts without any. */
export interface StoreCodec extends Codec {
  readonly definitions: CodecDefinitions
}

/** What a store asks of its codec about definitions, and tells it. Nothing here waits or is sent. */
export interface CodecDefinitions {
  /** Whether `wanted` may ever have something, so that the store has to be made ready for it. */
  readonly writes: boolean
  /** The ids that a body refers to and that are not known. Never throws; nearly always the same empty list. */
  missing(body: Uint8Array): readonly string[]
  /** Takes what was found stored, for reading. False for what its id does not stand for, or that this codec does not understand. */
  learn(definition: StoredDefinition): boolean
  /** From now on bodies may refer to it: it is known, stored on every shard, and every process knows where to look. */
  confirm(id: string): void
  /** What bodies would refer to if it were confirmed. */
  wanted(): readonly Definition[]
  /** A dictionary of so many bytes at the most, of what these bags have in common. It is not known before it is stored and learned. */
  train(bags: readonly Bag[], bytes: number): Definition
  /** All that is known. */
  known(): readonly StoredDefinition[]
}
