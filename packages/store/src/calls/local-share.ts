import type { IndexRow } from '@looseleaf/core/internal'

/**
 * Share of the rows of one index table on one shard that lead to entities of the same shard, as far as this process has seen. If the share
 * is large, a page reads its rows and their entities in one statement.
 */
export interface LocalShare {
  /** True if rows should be read with the versions of their entities. */
  readonly versionsPay: boolean
  /** True if rows should be read with their entities. False for some time if most bodies are too long for that. */
  entitiesPay(): boolean
  /** Takes note of some rows of a page, by whether each leads to an entity of this shard. */
  learn<Row extends IndexRow>(page: readonly Row[], isLocal: (row: Row) => boolean): void
  /** Takes note of some rows that were read with their entities, by whether each body was left out. */
  learnLengths<Row extends IndexRow>(page: readonly Row[], isLong: (row: Row) => boolean): void
}

/**
 * Rows that lead nowhere near cost a second statement, as they do without a join, and a longer first one. Rows that are placed by chance on
 * two shards have a share of a half, so the bound has to be well above that.
 */
const ENOUGH = 0.75
/** A share counts from so many rows on. A single page tells it. */
const MIN_SEEN = 12
/** A row changes the share by one in so many. */
const WINDOW = 64
/** Rows of a page that are looked at: many until the share is known, and then few, because each takes a look at the placement. */
const FIRST_SAMPLE = 16
const SAMPLE = 2
/** Rows of a page whose lengths are looked at. */
const LENGTH_SAMPLE = 8
/** Share of bodies left out from which entities are read by id, and scans until they are tried again. */
const MANY_LONG = 0.25
const REST = 200

/** Tells whether a share is large enough for joins. */
export function isMostlyLocal(share: number): boolean {
  return share >= ENOUGH
}

/** Creates the share of a table. `isAlone`: the store has one shard, so all rows are local for now. */
export function createLocalShare(isAlone: boolean): LocalShare {
  let share = isAlone ? 1 : 0
  let seen = isAlone ? WINDOW : 0
  let longShare = 0
  let rest = 0

  const isKnownLocal = (): boolean => seen >= MIN_SEEN && isMostlyLocal(share)

  return {
    get versionsPay() {
      return isKnownLocal()
    },
    entitiesPay() {
      if (!isKnownLocal()) return false
      if (longShare < MANY_LONG) return true
      if (rest > 0) {
        rest--
        return false
      }
      rest = REST
      return true
    },
    learn(page, isLocal) {
      const count = Math.min(page.length, seen < WINDOW ? FIRST_SAMPLE : SAMPLE)
      for (let i = 0; i < count; i++) {
        if (seen < WINDOW) seen++
        share += ((isLocal(page[i]!) ? 1 : 0) - share) / seen
      }
    },
    learnLengths(page, isLong) {
      const count = Math.min(page.length, LENGTH_SAMPLE)
      for (let i = 0; i < count; i++) longShare += ((isLong(page[i]!) ? 1 : 0) - longShare) / WINDOW
    },
  }
}
