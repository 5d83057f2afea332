import type { CallOptions } from './call.ts'

/** Something that stored bodies refer to instead of holding it themselves: a shape, a dictionary. It is never changed. */
export interface Definition {
  /** Made of the kind and the content, in hexadecimal digits, so that an id never stands for two contents. */
  readonly id: string
  /** What it is, in a word; the codec's business. */
  readonly kind: string
  readonly bytes: Uint8Array
}

/** As it is stored. */
export interface StoredDefinition extends Definition {
  /** Microseconds since 1970 by the clock of the database that has it. */
  readonly added: number
}

/** The definitions on one shard. Rows are added, never changed and never removed. A missing table is `NOT_MIGRATED`. */
export interface DefinitionTable {
  /** All of them, the oldest first. */
  all(options?: CallOptions): Promise<readonly StoredDefinition[]>
  /** Those of these ids that are there. */
  read(ids: readonly string[], options?: CallOptions): Promise<readonly StoredDefinition[]>
  /** Adds those that are not there; what is there stays, whatever its content. */
  add(definitions: readonly Definition[], options?: CallOptions): Promise<void>
}
