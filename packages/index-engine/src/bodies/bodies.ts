import type { Bag } from '@looseleaf/core'
import { isPromise, type EntityRow } from '@looseleaf/core/internal'

/** Decodes the stored bodies of a store. */
export interface Bodies {
  /**
   * Decodes a body that a shard of this name has returned. Returns a promise only if the body refers to codec entries that this process
   * has to load first, which happens once per entry. Throws, or rejects with, the errors of `Codec.decode`; `isUndecodable` tells
   * these from the error of a shard that cannot be asked for the entries.
   */
  decode(body: Uint8Array, shard: string): Bag | Promise<Bag>
  /**
   * Loads the codec entries that rows of a shard of this name refer to and this process lacks. Returns undefined if it lacks none. Readers
   * of many rows call it before they hand the rows over: the error of a shard that cannot be asked is then an error of their read, which
   * they retry, and not one of a row.
   */
  load(rows: readonly Pick<EntityRow, 'body'>[], shard: string): Promise<void> | undefined
  /** Called after a write. Publishes new codec entries in the background. */
  written(): void
}

/** Returns true if a decoded value waits for codec entries. Hot paths await it only then. */
export function isPending<T>(decoded: T | Promise<T>): decoded is Promise<T> {
  return isPromise(decoded)
}
