import { idKey } from '@looseleaf/core'

/** One row of a compare-and-swap, as far as it says who else is writing the entity. */
export interface Swap {
  readonly id: Uint8Array
  /** The version that was read. */
  readonly base: number
  /** The version that is to replace it. */
  readonly version: number
}

/** Remembers the writes of this process, to tell the entities that others are writing at the same time. */
export interface OwnWrites {
  /** These are new: nobody else knows them yet. */
  inserted(rows: readonly Pick<Swap, 'id' | 'version'>[]): void
  /** These have replaced what they were to replace. */
  won(rows: readonly Swap[]): void
  /** Others came before these. */
  lost(rows: readonly Swap[]): void
  /** Whether one of these entities was written a moment ago, and not by us alone: others may come between again. */
  areContested(rows: readonly Swap[]): boolean
}

/** Versions are microseconds: what lies between two of them is the time from one write to the next. */
const MOMENT = 1_000_000

/** So many writes of an entity in a row are taken for a sign that nobody else writes it. */
const ALONE_AFTER = 4

/** Entities that are remembered, and up to twice as many; one that is forgotten counts as written by others. */
const REMEMBERED = 10_000

interface LastWrite {
  readonly version: number
  /** Writes of ours without one of others between them. */
  readonly inARow: number
}

export function createOwnWrites(): OwnWrites {
  // Two generations: to forget the oldest entity one by one would cost more than to remember it.
  let recent = new Map<string, LastWrite>()
  let older = new Map<string, LastWrite>()

  function remember(key: string, version: number, inARow: number): void {
    if (recent.size >= REMEMBERED) {
      older = recent
      recent = new Map()
    }
    recent.set(key, { version, inARow })
  }

  const lastOf = (key: string): LastWrite | undefined => recent.get(key) ?? older.get(key)

  return {
    inserted(rows) {
      for (const { id, version } of rows) remember(idKey(id), version, ALONE_AFTER)
    },
    won(rows) {
      for (const { id, base, version } of rows) {
        const key = idKey(id)
        const last = lastOf(key)
        remember(key, version, last?.version === base ? last.inARow + 1 : 1)
      }
    },
    lost(rows) {
      for (const { id } of rows) {
        const key = idKey(id)
        recent.delete(key)
        older.delete(key)
      }
    },
    areContested: (rows) =>
      rows.some(({ id, base, version }) => {
        if (version - base >= MOMENT) return false
        const last = lastOf(idKey(id))
        return last === undefined || last.version !== base || last.inARow < ALONE_AFTER
      }),
  }
}
