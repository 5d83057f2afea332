/** Counts of the work of a pass. */
export interface Tally {
  /** Entities read, including tombstones. */
  entities: number
  /** Index rows read. */
  rows: number
  /** Missing rows that were added; for an index that is being filled, all rows written. */
  added: number
  /** Dangling rows deleted. */
  removed: number
  /** Entities that were fenced: their version was raised, or a tombstone was inserted, to end attempts in flight. */
  fenced: number
  /** Dangling rows left for later, because they may belong to a writer in flight. */
  postponed: number
  /** Rows that match their entity but are on the wrong shard. */
  misplaced: number
  /** Values that their index cannot hold. */
  misfits: number
  /** Keys of a unique index that another entity has. */
  duplicates: number
  /** Entities whose body could not be decoded. Their rows are left alone. */
  undecodable: number
}

const names = [
  'entities',
  'rows',
  'added',
  'removed',
  'fenced',
  'postponed',
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
    postponed: 0,
    misplaced: 0,
    misfits: 0,
    duplicates: 0,
    undecodable: 0,
  }
}

export function addTally(tally: Tally, more: Partial<Tally>): void {
  for (const name of names) tally[name] += more[name] ?? 0
}

export function sumTallies(tallies: Iterable<Partial<Tally>>): Tally {
  const sum = emptyTally()
  for (const tally of tallies) addTally(sum, tally)
  return sum
}

/** Reads counts from parsed JSON. A value that is not a count becomes 0. */
export function tallyFrom(value: unknown): Tally {
  const tally = emptyTally()
  if (typeof value !== 'object' || value === null) return tally
  for (const name of names) {
    const count = (value as Record<string, unknown>)[name]
    if (typeof count === 'number' && Number.isSafeInteger(count)) tally[name] = count
  }
  return tally
}
