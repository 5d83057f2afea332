/** What a cache says of a key. */
export type SharedCacheAnswer =
  /** What is kept. */
  | { readonly value: Uint8Array }
  /**
   * Nothing is kept, and whoever asked may keep what it reads from now on: until the key is removed, or somebody else gets another
   * lease for it, or `maxStalenessMs` would not be held any more.
   */
  | { readonly lease: string }
  /** What is kept cannot be asked for, and why. */
  | { readonly failed: unknown }
  /** Nothing is kept, and somebody else has a lease. */
  | undefined

/**
 * Values that processes share outside of the database. Every call ends soon, and rejects where what the key is on cannot be reached; whatever
 * it was to do may then be done or not. It is not waited for again and again: for a while such calls fail at once, those of other keys go on.
 * Nothing has to stay.
 */
export interface SharedCache {
  /** For each of these keys, by itself, which are texts of up to 200 letters, digits and `:-_`. */
  take(keys: readonly string[]): Promise<readonly SharedCacheAnswer[]>
  /** Keeps a value, if the lease is good. Values of 16 bytes to 900 kB. */
  keep(key: string, value: Uint8Array, lease: string): Promise<void>
  /** Nothing is kept under the key when it resolves, and no lease for it is good any more. */
  remove(key: string): Promise<void>
  /** Ends the connections. */
  close(): Promise<void>
}

/** What `memcachedCache(…)` gives; nothing is connected before `connect`. */
export interface SharedCacheFactory {
  /** No value is given that is older than this: as old as the lease with which it was kept. */
  readonly maxStalenessMs: number
  connect(): SharedCache
}
