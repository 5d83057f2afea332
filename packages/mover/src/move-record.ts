import { isId } from '@looseleaf/core'
import {
  type Inlined,
  countIn,
  countsIn,
  parseObject,
  textIn,
  toObject,
  type CopiedEntity,
  type LayoutMove,
  type UpdatedPlace,
} from '@looseleaf/core/internal'
import { placeAt, processName } from '@looseleaf/protocol/internal'

/**
 * Steps of a move in their order. `undoing` and `undone` follow `copying` or `checking`.
 * - `copying`: entities, index rows and claims are copied; the source serves all buckets.
 * - `checking`: the copies are compared with the source.
 * - `sealing`: group after group is sealed, handed over, and served by the target.
 * - `switching`: index rows are read on the target; queries in flight may still read the source.
 * - `emptying`: the source deletes what it gave up.
 */
export const moveSteps = [
  'copying',
  'checking',
  'sealing',
  'switching',
  'emptying',
  'done',
  'undoing',
  'undone',
] as const
export type MoveStep = (typeof moveSteps)[number]

/** Tells whether a move is over after this step. */
export function isLastStep(step: MoveStep): boolean {
  return step === 'done' || step === 'undone'
}

/** Exact counts of a move, over all processes that have worked on it. */
export type MoveCounts = Inlined<{
  /** Entities, tombstones and index rows that were read on the source. */
  read: number
  /** Entities and tombstones that were copied. An entity that was written during the move counts again. */
  entities: number
  /** Index rows that were copied. */
  rows: number
  claims: number
  /** Rows that the comparison found missing on the target, and added: those of writes in flight. */
  late: number
  /** Entities and tombstones that were compared and are the same. */
  compared: number
  /** Entities, index rows and claims that were deleted on the shard that has no use for them any more. */
  emptied: number
}>

/** A complete comparison of copies with their entities. */
export type Verification = Inlined<{
  /** Entities, tombstones, index rows and claims that were compared. */
  readonly rows: number
  readonly at: Date
  /** Host and process id of the mover. */
  readonly by: string
  /** True if entities of these buckets were written since. The copies of the last writes are compared under the seal of their buckets. */
  readonly stale: boolean
}>

interface SavedVerification extends Omit<Verification, 'at'> {
  /** Milliseconds since 1970, by the clock of the mover. */
  readonly at: number
}

/**
 * Saved progress of a move. It stands on the target. A target that went back to an earlier state has a record of that state, or one that the
 * mover has saved since; `attempt` and `last` then show that the copies are older.
 */
export interface MoveRecord {
  step: MoveStep
  readonly from: number
  /** Ranges such as `77-96`. */
  readonly buckets: string
  /** True once the target had no rows of these buckets but copies of this move. */
  cleared: boolean
  /** All entities of the source before this place are copied. */
  place: UpdatedPlace
  /** The last attempt that has begun at the target; 0 before. A target without it went back to an earlier state. */
  attempt: number
  /** The last copy since the target began with a group, which it has unless it went back; undefined if there was none. */
  last: CopiedEntity | undefined
  /** Index tables that were copied whole: no claim had to wait, and no key was freed for the next pass. */
  tables: string[]
  readonly counts: MoveCounts
  /** Rows of the source when the move began; 0 while unknown. */
  total: number
  verified: SavedVerification | undefined
  seals: number[]
  /** Entities and rows that the mover reads per second. */
  rate: number
  /** Milliseconds since 1970 when the present mover began, by its clock. */
  since: number
  /** Milliseconds since 1970 when the move was done or undone, by the clock of its mover; 0 before. */
  endedAt: number
  /** Host and process id of the last mover. */
  worker: string
  /** Reason why the move waits, for people; empty if it does not. */
  waitsFor: string
}

const COUNTS = ['read', 'entities', 'rows', 'claims', 'late', 'compared', 'emptied'] as const

export function freshRecord({ from, buckets }: Pick<LayoutMove, 'from' | 'buckets'>): MoveRecord {
  return {
    step: 'copying',
    from,
    buckets,
    cleared: false,
    place: placeAt(0),
    attempt: 0,
    last: undefined,
    tables: [],
    counts: countsIn({}, COUNTS),
    total: 0,
    verified: undefined,
    seals: [],
    rate: 0,
    since: 0,
    endedAt: 0,
    worker: processName,
    waitsFor: '',
  }
}

/** Parses the JSON of a record. Returns undefined for any other text. */
export function recordFromText(text: string): MoveRecord | undefined {
  const value = parseObject(text)
  const step = moveSteps.find((name) => name === value?.['step'])
  if (value === undefined || step === undefined) return undefined
  const place = toObject(value['place']) ?? {}
  const { cleared, tables, seals } = value
  return {
    step,
    from: countIn(value, 'from'),
    buckets: textIn(value, 'buckets'),
    cleared: cleared === true,
    place: countsIn(place, ['updated', 'addedId']),
    attempt: countIn(value, 'attempt'),
    last: copyIn(value['last']),
    tables: Array.isArray(tables) ? tables.filter((name) => typeof name === 'string') : [],
    counts: countsIn(toObject(value['counts']) ?? {}, COUNTS),
    ...countsIn(value, ['total', 'rate', 'since', 'endedAt']),
    verified: verificationIn(value['verified']),
    seals: Array.isArray(seals) ? seals.filter((time) => typeof time === 'number') : [],
    worker: textIn(value, 'worker'),
    waitsFor: textIn(value, 'waitsFor'),
  }
}

function copyIn(value: unknown): CopiedEntity | undefined {
  const copy = toObject(value)
  if (copy === undefined) return undefined
  const id = textIn(copy, 'id')
  return isId(id) ? { id, updated: countIn(copy, 'updated') } : undefined
}

function verificationIn(value: unknown): SavedVerification | undefined {
  const found = toObject(value)
  if (found === undefined) return undefined
  return { ...countsIn(found, ['rows', 'at']), by: textIn(found, 'by'), stale: found['stale'] === true }
}
