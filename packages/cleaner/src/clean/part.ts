import { countsIn, parseObject, textIn } from '@looseleaf/core/internal'
import { emptyTally, tallyFrom, type Tally } from '../pass/tally.ts'
import { paceFrom, type Pace } from './pace.ts'
import { byArrivalFrom, readFrom, type BucketsByArrival, type EntityPhase } from './read-buckets.ts'

export const phases = ['entities', 'dangling', 'check'] as const
export type Phase = (typeof phases)[number]

/** Progress of the cleaning of one index on one shard. */
export interface Part {
  run: string
  phase: Phase | 'done'
  /** Last `addedId` done, in a phase over entities. */
  addedId: number
  /**
   * The buckets that the present pass over entities reads, as long as the shard keeps them. Undefined before a pass, which begins with all
   * buckets of the shard.
   */
  reading: BucketsByArrival | undefined
  /** Ranges of the buckets that passes over entities have read whole, by phase. */
  read: Record<EntityPhase, string>
  /** Last row done, as text, in the phase over rows. */
  place: string
  /** Entities or rows done in this phase. */
  seen: number
  /** Entities or rows when this phase began. */
  total: number
  /** Missing rows that the current round of the check has found. */
  missing: number
  /** Completed rounds of the check; each of them found missing rows. */
  rounds: number
  /** Claims that the current or last round of the check could not take. With any, the index does not become ready. */
  duplicates: number
  /** Counts of all phases so far. */
  tally: Tally
  /** Pace at the last save; undefined before the first. */
  pace: Pace | undefined
}

const countNames = ['addedId', 'seen', 'total', 'missing', 'rounds', 'duplicates'] as const

export function freshPart(run: string): Part {
  return {
    run,
    phase: 'entities',
    reading: undefined,
    read: { entities: '', check: '' },
    place: '',
    ...countsIn({}, countNames),
    tally: emptyTally(),
    pace: undefined,
  }
}

/** Moves a part to the start of a phase. */
export function enterPhase(part: Part, phase: Part['phase']): void {
  const duplicates = phase === 'done' ? part.duplicates : 0
  Object.assign(part, countsIn({}, countNames), { phase, reading: undefined, place: '', duplicates })
}

/** Returns a part to a phase that it has completed, to read more buckets, from this place on. */
export function reopenPhase(
  part: Part,
  phase: EntityPhase,
  { reading, addedId }: Pick<Part, 'reading' | 'addedId'>,
): void {
  const { duplicates } = part
  enterPhase(part, phase)
  Object.assign(part, { reading, addedId, duplicates: phase === 'check' ? duplicates : 0 })
}

export function isPast(part: Part, phase: Phase): boolean {
  return part.phase === 'done' || phases.indexOf(part.phase) > phases.indexOf(phase)
}

/** Returns the phases up to and including this one, in order. */
export function phasesUpTo(phase: Phase): readonly Phase[] {
  return phases.slice(0, phases.indexOf(phase) + 1)
}

/** Serializes a part. The phase is stored under the name `stage`. */
export function partToText({ phase, ...part }: Part): string {
  return JSON.stringify({ ...part, stage: phase })
}

/** Parses the text of `partToText`. Returns undefined for any other text; the part then starts over. */
export function partFromText(text: string): Part | undefined {
  const value = parseObject(text)
  if (value === undefined) return undefined
  const { run, stage } = value
  const phase = phases.find((name) => name === stage) ?? (stage === 'done' ? stage : undefined)
  const read = readFrom(value['read'])
  if (typeof run !== 'string' || phase === undefined || read === undefined) return undefined
  return {
    run,
    phase,
    reading: byArrivalFrom(value['reading']),
    read,
    place: textIn(value, 'place'),
    ...countsIn(value, countNames),
    tally: tallyFrom(value['tally']),
    pace: paceFrom(value['pace']),
  }
}
