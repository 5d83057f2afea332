import type { CallOptions } from './call.ts'

/** A codec entry: a shape or a dictionary that stored bodies refer to. Entries never change. */
export interface CodecEntry {
  /** Hexadecimal digits of a hash of kind and content, so that an id never has two contents. */
  readonly id: string
  /** A word for the codec, such as `shape`. */
  readonly kind: string
  readonly bytes: Uint8Array
}

export interface StoredCodecEntry extends CodecEntry {
  /** Time of insertion in microseconds since 1970, by the clock of this database. */
  readonly added: number
}

/**
 * The codec entries on one shard. Rows are added, never changed, never removed. Every method rejects with `NOT_MIGRATED` if the
 * table is missing.
 */
export interface CodecEntryTable {
  /** Reads all entries, the oldest first. */
  all(options?: CallOptions): Promise<readonly StoredCodecEntry[]>
  /** Reads the entries under these ids. Missing ones are left out. */
  read(ids: readonly string[], options?: CallOptions): Promise<readonly StoredCodecEntry[]>
  /** Adds the entries whose ids are missing. Existing rows stay, whatever their content. */
  add(entries: readonly CodecEntry[], options?: CallOptions): Promise<void>
}
