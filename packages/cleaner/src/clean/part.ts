import { countIn, parseObject } from '@looseleaf/core'
import { emptyTally, tallyFrom, type Tally } from '../pass/tally.ts'
import { paceFrom, type Pace } from './pace.ts'

/** The phases of one cleaning, in their order. */
export const phases = ['entities', 'dangling', 'check'] as const
export type Phase = (typeof phases)[number]

/** How far the cleaning of one index has come on one shard. */
export interface Part {
  /** The run that it belongs to. */
  run: string
  /** The phase that is under way. */
  phase: Phase | 'done'
  /** In a phase over entities: the last `addedId` done. */
  addedId: number
  /** In a phase over rows: the last row done, as text. */
  place: string
  /** Entities or rows of this phase done so far, and how many there were when it began. */
  seen: number
  total: number
  /** Missing rows that the check has found in the round under way, and rounds that it has begun. */
  missing: number
  rounds: number
  /** Claims that the round under way could not have, or the last one: with them the index does not become ready. */
  duplicates: number
  /** What all phases have done so far. */
  tally: Tally
  /** How the work on it went when it was saved last; undefined before. */
  pace: Pace | undefined
}

export function freshPart(run: string): Part {
  return {
    run,
    phase: 'entities',
    addedId: 0,
    place: '',
    seen: 0,
    total: 0,
    missing: 0,
    rounds: 0,
    duplicates: 0,
    tally: emptyTally(),
    pace: undefined,
  }
}

/** Begins a phase from its start. */
export function enterPhase(part: Part, phase: Part['phase']): void {
  const duplicates = phase === 'done' ? part.duplicates : 0
  Object.assign(part, { phase, addedId: 0, place: '', seen: 0, total: 0, missing: 0, rounds: 0, duplicates })
}

/** True when this phase is over. */
export function isPast(part: Part, phase: Phase): boolean {
  return part.phase === 'done' || phases.indexOf(part.phase) > phases.indexOf(phase)
}

/** A phase and those before it, in their order. */
export function phasesUpTo(phase: Phase): readonly Phase[] {
  return phases.slice(0, phases.indexOf(phase) + 1)
}

/** The phase is stored as `stage`. */
export function partToText({ phase, ...part }: Part): string {
  return JSON.stringify({ ...part, stage: phase })
}

/** The part of a text that `partToText` gave; undefined for any other, which means to begin anew. */
export function partFromText(text: string): Part | undefined {
  const value = parseObject(text)
  if (value === undefined) return undefined
  const { run, stage, place } = value
  const phase = phases.find((name) => name === stage) ?? (stage === 'done' ? stage : undefined)
  if (typeof run !== 'string' || phase === undefined) return undefined
  return {
    run,
    phase,
    addedId: countIn(value, 'addedId'),
    place: typeof place === 'string' ? place : '',
    seen: countIn(value, 'seen'),
    total: countIn(value, 'total'),
    missing: countIn(value, 'missing'),
    rounds: countIn(value, 'rounds'),
    duplicates: countIn(value, 'duplicates'),
    tally: tallyFrom(value['tally']),
    pace: paceFrom(value['pace']),
  }
}
