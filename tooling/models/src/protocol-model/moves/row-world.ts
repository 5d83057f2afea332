import type { Step, StepResult } from '../explore.ts'

export type Place = 0 | 1
export type IndexKey = 1 | 2

/** Places at which index rows of the bucket are read and written. */
interface Placement {
  readonly read: Place
  readonly write: readonly Place[]
}

/**
 * The phases of a bucket of index rows that moves from place A to place B, and of a move back. An `undoing` phase
 * leads to A alone.
 */
export const PHASES = [
  'before',
  'both',
  'target',
  'after',
  'both, back',
  'target, back',
  'after, back',
  'undoing',
  'undone',
] as const

export type Phase = (typeof PHASES)[number]

export const PLACEMENTS: Readonly<Record<Phase, Placement>> = {
  before: { read: 0, write: [0] },
  both: { read: 0, write: [0, 1] },
  target: { read: 1, write: [0, 1] },
  after: { read: 1, write: [1] },
  'both, back': { read: 1, write: [0, 1] },
  'target, back': { read: 0, write: [0, 1] },
  'after, back': { read: 0, write: [0] },
  undoing: { read: 0, write: [0, 1] },
  undone: { read: 0, write: [0] },
}

/** The part of a shard's catalog that counts here. A change raises the epoch. */
export interface PhaseCatalog {
  epoch: number
  phase: Phase
}

/** Stamps of the rows of one place, by key; 0 for no row. */
export type Rows = [0, number, number]

export interface RowWorld {
  /** Catalogs of two shards of entities. The first one leads, the other one copies it. */
  readonly catalogs: [PhaseCatalog, PhaseCatalog]
  version: number
  /** Key of the entity; 0 for a tombstone. */
  key: IndexKey | 0
  /** Version of the pending row, which stands for deferred index rows; 0 for none. */
  note: number
  /** Whether the index may be queried. */
  isReady: boolean
  readonly rows: [Rows, Rows]
  /** Epoch of the leading catalog whose phase has its copy; 0 for none. */
  copied: number
  /** Whether the source has committed the move of the entities of the bucket, after which no undo is possible. */
  isCommitted: boolean
  isUndone: boolean
  /** Queries in flight that read each place. */
  readonly reading: [number, number]
  /** Queries in flight for which the entity has matched all the time. */
  matching: number
  wrong: string | undefined
}

export interface RowMemory {
  known: PhaseCatalog
  base: number
  old: IndexKey | 0
  version: number
  tries: number
  /** Stamps of the rows of one place as read. */
  rows: Rows | undefined
  /** For a query: whether it has met the entity, and whether it had to. */
  found: boolean
  matched: boolean
}

/** Guards of the move of index rows. The tests turn each off to show what breaks. */
export interface RowGuards {
  /** Rows are copied only when every shard fences writers that do not write at both places. */
  readonly allWriteBeforeCopying: boolean
  /** The commit of an entity compares the epoch of its shard. */
  readonly commitsAreFenced: boolean
  /** A copy keeps the greater stamp. */
  readonly greatestStampStays: boolean
  /** Reads move to the target only when every row was copied. */
  readonly copyBeforeReads: boolean
  /** Writes at the source end only when no query reads there. */
  readonly readersAreAwaited: boolean
  /** Writes at the source end only when every catalog has moved the reads. */
  readonly readsMoveEverywhere: boolean
  /** A process that writes rows outside a commit reads the catalog afterwards, and writes again if it has changed. */
  readonly fillersLookAgain: boolean
  /** A drain does so before it removes the pending row. */
  readonly drainsLookAgain: boolean
  /** Lost rows stay at both places until queries that began before have ended. */
  readonly lostRowsStay: boolean
  /** At both places a row is deleted only if it is not later than what is known. */
  readonly deletesCompareStamps: boolean
  /** Rows that stayed behind are deleted under the epoch of their shard. */
  readonly discardsAreFenced: boolean
  /** An undo whose move was committed in the meantime turns into the end of that move. */
  readonly undoYieldsToCommit: boolean
}

export const allRowGuards: RowGuards = {
  allWriteBeforeCopying: true,
  commitsAreFenced: true,
  greatestStampStays: true,
  copyBeforeReads: true,
  readersAreAwaited: true,
  readsMoveEverywhere: true,
  fillersLookAgain: true,
  drainsLookAgain: true,
  lostRowsStay: true,
  deletesCompareStamps: true,
  discardsAreFenced: true,
  undoYieldsToCommit: true,
}

export type RowStep = Step<RowWorld, RowMemory>
export type RowProcess = readonly RowStep[]

export function rowWorld(change: Partial<RowWorld> = {}): RowWorld {
  return {
    catalogs: [
      { epoch: 1, phase: 'before' },
      { epoch: 1, phase: 'before' },
    ],
    version: 10,
    key: 1,
    note: 0,
    isReady: true,
    rows: [
      [0, 10, 0],
      [0, 0, 0],
    ],
    copied: 0,
    isCommitted: false,
    isUndone: false,
    reading: [0, 0],
    matching: 0,
    wrong: undefined,
    ...change,
  }
}

/** Variables of a process that knows the catalog of the beginning. */
export function noRowMemory(): RowMemory {
  return {
    known: { epoch: 1, phase: 'before' },
    base: 0,
    old: 0,
    version: 0,
    tries: 0,
    rows: undefined,
    found: false,
    matched: false,
  }
}

/** Returns a broken promise: a place that may be read lacks the row of the committed entity, or a query lacks the entity. */
export function missingAtPlace({
  catalogs,
  key,
  note,
  isReady,
  rows,
  reading,
  wrong,
}: RowWorld): string | undefined {
  if (wrong !== undefined) return wrong
  if (key === 0 || note > 0 || !isReady) return undefined
  const isRead = (place: Place): boolean =>
    reading[place] > 0 || catalogs.some(({ phase }) => PLACEMENTS[phase].read === place)
  const lacking = ([0, 1] as const).find((place) => isRead(place) && rows[place][key] === 0)
  return lacking === undefined ? undefined : `place ${'AB'[lacking]} is read and lacks a row`
}

export const nextVersion = (base: number, process: number): number =>
  (Math.floor(base / 10) + 1) * 10 + process + 1

export const upsert = (rows: Rows, key: IndexKey, stamp: number): void =>
  void (rows[key] = Math.max(rows[key], stamp))

export const remove = (
  rows: Rows,
  key: IndexKey,
  upTo: number,
  { deletesCompareStamps }: RowGuards,
): void => {
  if (!deletesCompareStamps || rows[key] <= upTo) rows[key] = 0
}

/** One statement for each place at which rows of the bucket are written by the catalog that the process knows. */
export function atPlaces(
  label: string,
  then: StepResult,
  run: (world: RowWorld, local: RowMemory, rows: Rows) => StepResult,
): RowProcess {
  return ([0, 1] as const).map((place) => ({
    label: `${label} at place ${'AB'[place]}`,
    run(world, local) {
      const { write } = PLACEMENTS[local.known.phase]
      const result = write.includes(place) ? run(world, local, world.rows[place]) : undefined
      return result ?? (place === 1 ? then : undefined)
    },
  }))
}

export const mustKeep = ({ reading }: RowWorld, key: IndexKey | 0, { lostRowsStay }: RowGuards): boolean =>
  lostRowsStay && key !== 0 && reading[0] + reading[1] > 0

/** Checks at rest that a move that the source has committed was not undone. */
export function undoneCommit({ catalogs: [leading], isCommitted }: RowWorld): string | undefined {
  return isCommitted && leading.phase === 'undone' ? 'a committed move was undone' : undefined
}
