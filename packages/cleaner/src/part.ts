import { countIn, parseObject } from './json-object.ts'
import { emptyTally, tallyFrom, type Tally } from './tally.ts'

/** The passes of one cleaning, in their order. */
export const stages = ['entities', 'dangling', 'check'] as const
export type Stage = (typeof stages)[number]

/** How far the cleaning of one index has come on one shard. */
export interface Part {
  /** The run that it belongs to. */
  run: string
  /** The pass that is under way. */
  stage: Stage | 'done'
  /** In a pass over entities: the last `addedId` done. */
  addedId: number
  /** In a pass over rows: the last row done, as text. */
  place: string
  /** Rows of this pass done so far, and how many there were when it began. */
  seen: number
  total: number
  /** Missing rows that the check has found in the round under way, and rounds that it has begun. */
  missing: number
  rounds: number
  /** What all passes have done so far. */
  tally: Tally
}

export function freshPart(run: string): Part {
  return {
    run,
    stage: 'entities',
    addedId: 0,
    place: '',
    seen: 0,
    total: 0,
    missing: 0,
    rounds: 0,
    tally: emptyTally(),
  }
}

/** Begins a pass from its start. */
export function enterStage(part: Part, stage: Part['stage']): void {
  Object.assign(part, { stage, addedId: 0, place: '', seen: 0, total: 0, missing: 0, rounds: 0 })
}

/** True when this pass is over. */
export function isPast(part: Part, stage: Stage): boolean {
  return part.stage === 'done' || stages.indexOf(part.stage) > stages.indexOf(stage)
}

/** A pass and those before it, in their order. */
export function stagesUpTo(stage: Stage): readonly Stage[] {
  return stages.slice(0, stages.indexOf(stage) + 1)
}

export function partToText(part: Part): string {
  return JSON.stringify(part)
}

/** The part of a text that `partToText` gave; undefined for any other, which means to begin anew. */
export function partFromText(text: string): Part | undefined {
  const value = parseObject(text)
  if (value === undefined) return undefined
  const { run, stage, place } = value
  const known = stages.find((name) => name === stage) ?? (stage === 'done' ? stage : undefined)
  if (typeof run !== 'string' || known === undefined) return undefined
  return {
    run,
    stage: known,
    addedId: countIn(value, 'addedId'),
    place: typeof place === 'string' ? place : '',
    seen: countIn(value, 'seen'),
    total: countIn(value, 'total'),
    missing: countIn(value, 'missing'),
    rounds: countIn(value, 'rounds'),
    tally: tallyFrom(value['tally']),
  }
}
