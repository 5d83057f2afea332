import { countsIn, toObject } from '@looseleaf/core/internal'

/** Counts of the work of a pass. */
export interface Tally {
  /** Entities read, including tombstones. */
  entities: number
  /** Index rows read. */
  rows: number
  /** Missing rows that were added where queries read them; for an index that is being filled, all rows written there. */
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
  return countsIn({}, names)
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
  return countsIn(toObject(value) ?? {}, names)
}
