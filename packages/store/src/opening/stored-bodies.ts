import { isLooseleafError, type Codec, type StoreCodec } from '@looseleaf/core'
import type { Bodies } from '@looseleaf/index-engine/internal'

/** The codec entries that a store has, and those that it is about to get. */
export interface StoredCodecEntries {
  /** Loads entries from the shard with this name, or else from another. Resolves also if no shard has them. */
  load(ids: readonly string[], shard: string): Promise<void>
  /** Publishes, in the background, the entries that bodies would refer to. */
  publish(): void
}

/** Makes the decoding of a codec without codec entries. */
export function plainBodies(codec: Codec): Bodies {
  return { decode: (body) => codec.decode(body), load: () => undefined, written: () => {} }
}

/** Makes the decoding of a codec with codec entries. `decode` looks for entries only if the codec does not know a body. */
export function bodiesWithEntries(codec: StoreCodec, entries: StoredCodecEntries): Bodies {
  return {
    decode(body, shard) {
      try {
        return codec.decode(body)
      } catch (error) {
        const missing = isLooseleafError(error, 'BODY_UNKNOWN') ? codec.codecEntries.missing(body) : []
        if (missing.length === 0) throw error
        return entries.load(missing, shard).then(() => codec.decode(body))
      }
    },
    load(rows, shard) {
      let missing: Set<string> | undefined
      for (const { body } of rows) {
        if (body === null) continue
        for (const id of codec.codecEntries.missing(body)) (missing ??= new Set()).add(id)
      }
      return missing && entries.load([...missing], shard)
    },
    written: () => entries.publish(),
  }
}
