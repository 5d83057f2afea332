/** Reads of this process by key, each made once for all that ask for it at about the same time. */
export interface SharedReads<Value> {
  /** Returns the value of a key as it was at most `keepMs` ago. */
  get(key: string): Promise<Value>
}

/** A value that may lack what is on a shard that does not answer. */
export interface MayLackData {
  readonly isPartial: boolean
}

export interface SharedReadsOptions<Value> {
  /** Reads the value of a key. May begin with the value that was kept before. */
  readonly read: (key: string, before: Value | undefined) => Promise<Value>
  /** Milliseconds from the beginning of a read during which its value is kept. */
  readonly keepMs: number
  /** Largest number of kept values. The value that was read first goes first. */
  readonly most: number
}

interface Kept<Value> {
  readonly reading: Promise<Value>
  readonly began: number
  /** Undefined until the read has ended. */
  value?: Value
}

/**
 * Keeps values for a moment, and lets concurrent callers share one read. A failed or a partial read is neither kept nor shared: each
 * caller reads by itself then, so that the trace of each request knows the shard that did not answer.
 */
export function createSharedReads<Value extends MayLackData>({
  read,
  keepMs,
  most,
}: SharedReadsOptions<Value>): SharedReads<Value> {
  /** In the order of their reads. */
  const kept = new Map<string, Kept<Value>>()

  async function readFor(key: string): Promise<Value> {
    const fresh: Kept<Value> = { reading: read(key, kept.get(key)?.value), began: performance.now() }
    kept.delete(key)
    kept.set(key, fresh)
    for (const oldest of kept.keys()) {
      if (kept.size <= most) break
      kept.delete(oldest)
    }
    let isWhole = false
    try {
      const value = await fresh.reading
      isWhole = !value.isPartial
      fresh.value = value
      return value
    } finally {
      if (!isWhole && kept.get(key) === fresh) kept.delete(key)
    }
  }

  return {
    async get(key) {
      const known = kept.get(key)
      if (known === undefined || performance.now() - known.began >= keepMs) return readFor(key)
      const value = await known.reading.catch(() => undefined)
      return value === undefined || value.isPartial ? read(key, undefined) : value
    },
  }
}
