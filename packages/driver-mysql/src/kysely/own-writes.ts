/** One row of a compare-and-swap, as far as it says who else is writing the entity. */
export interface Swap {
  /** The version that was read. */
  readonly base: number
  /** The version that is to replace it. */
  readonly version: number
}

/**
 * Remembers the writes of this process, to tell the entities that others are writing at the same time. A process gives no version
 * twice, so the version that stands there says who has written it: no entity has to be known by its id.
 */
export interface OwnWrites {
  /** These are new: nobody else knows them yet. */
  inserted(rows: readonly Pick<Swap, 'version'>[]): void
  /** These have replaced what they were to replace. */
  won(rows: readonly Swap[]): void
  /** Whether one of these entities was written a moment ago, and not by us alone: others may come between again. */
  areContested(rows: readonly Swap[]): boolean
}

/** Versions are microseconds: what lies between two of them is the time from one write to the next. */
const MOMENT = 1_000_000

/** So many writes of an entity in a row are taken for a sign that nobody else writes it. */
const ALONE_AFTER = 4

/** Writes that are remembered, and up to twice as many; one that is forgotten counts as one of others. */
const REMEMBERED = 10_000

export function createOwnWrites(): OwnWrites {
  // By version: writes of ours up to this one, without one of others between them. Two generations: to forget the oldest write one by
  // one would cost more than to remember it.
  let recent = new Map<number, number>()
  let older = new Map<number, number>()

  function remember(version: number, inARow: number): void {
    if (recent.size >= REMEMBERED) {
      older = recent
      recent = new Map()
    }
    recent.set(version, inARow)
  }

  const inARowUpTo = (version: number): number => recent.get(version) ?? older.get(version) ?? 0

  return {
    inserted(rows) {
      for (const { version } of rows) remember(version, ALONE_AFTER)
    },
    won(rows) {
      for (const { base, version } of rows) {
        // Nobody has written it for a while: a second write of ours soon after this one is no sign of others.
        const wasQuiet = version - base >= MOMENT
        remember(version, wasQuiet ? ALONE_AFTER : inARowUpTo(base) + 1)
      }
    },
    areContested: (rows) =>
      rows.some(({ base, version }) => version - base < MOMENT && inARowUpTo(base) < ALONE_AFTER),
  }
}
