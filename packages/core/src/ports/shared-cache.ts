/** Answer of a cache for one key. */
export type SharedCacheAnswer =
  | { readonly value: Uint8Array }
  /**
   * A miss with a lease: the caller may keep a value that it reads from now on. The lease ends when the key is removed, when another
   * caller gets a lease for it, or when the value would be older than `maxStalenessMs`.
   */
  | { readonly lease: string }
  /** The server of the key did not answer; the value is the error. */
  | { readonly failed: unknown }
  /** A miss without a lease, because another caller has it. */
  | undefined

/**
 * A cache outside of the database that processes share. Every call ends soon. It rejects if the server of its key is unreachable, and may
 * or may not have taken effect. For a while after that, calls to the same server fail at once; keys on other servers are not
 * affected. The cache may forget any value at any time.
 */
export interface SharedCache {
  /** Answers for each of these keys. A key has up to 200 letters, digits and `:-_`. */
  take(keys: readonly string[]): Promise<readonly SharedCacheAnswer[]>
  /** Keeps a value of 16 bytes to 900 kB if the lease has not ended. */
  keep(key: string, value: Uint8Array, lease: string): Promise<void>
  /** Removes the value of a key and ends its lease. */
  remove(key: string): Promise<void>
  /** Closes the connections. */
  close(): Promise<void>
}

/** Result of `memcachedCache(…)`. Opens no connection before `connect`. */
export interface SharedCacheFactory {
  /** Largest age of a value in milliseconds, counted from its lease. */
  readonly maxStalenessMs: number
  connect(): SharedCache
}
