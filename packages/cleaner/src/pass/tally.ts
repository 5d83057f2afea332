/** What a pass has looked at and done. Counts only. */
export interface Tally {
  /** Entities looked at, tombstones included. */
  entities: number
  /** Index rows looked at. */
  rows: number
  /** Rows that were missing and were added; for an index being filled, all rows written. */
  added: number
  /** Dangling rows deleted. */
  removed: number
  /** Entities whose version was raised, or that got a tombstone, to end attempts at writing them. */
  fenced: number
  /** Dangling rows that may belong to a writer in flight and were left for later. */
  waiting: number
  /** Rows on another shard than the one where they belong. */
  misplaced: number
  /** Values that do not fit their index. */
  misfits: number
  /** Keys of a unique index that another entity has. */
  duplicates: number
  /** Entities whose body could not be decoded; their rows are left as they are. */
  undecodable: number
}

const names = [
  'entities',
  'rows',
  'added',
  'removed',
  'fenced',
  'waiting',
  'misplaced',
  'misfits',
  'duplicates',
  'undecodable',
] as const satisfies readonly (keyof Tally)[]

export function emptyTally(): Tally {
  return {
    entities: 0,
    rows: 0,
    added: 0,
    removed: 0,
    fenced: 0,
    waiting: 0,
    misplaced: 0,
    misfits: 0,
    duplicates: 0,
    undecodable: 0,
  }
}

/** Adds `more` to `tally`. */
export function addTally(tally: Tally, more: Partial<Tally>): void {
  for (const name of names) tally[name] += more[name] ?? 0
}

export function sumTallies(tallies: Iterable<Partial<Tally>>): Tally {
  const sum = emptyTally()
  for (const tally of tallies) addTally(sum, tally)
  return sum
}

/** Reads counts from parsed JSON; whatever is not a count is 0. */
export function tallyFrom(value: unknown): Tally {
  const tally = emptyTally()
  if (typeof value !== 'object' || value === null) return tally
  for (const name of names) {
    const count = (value as Record<string, unknown>)[name]
    if (typeof count === 'number' && Number.isSafeInteger(count)) tally[name] = count
  }
  return tally
}
