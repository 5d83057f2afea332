import { isDeletion } from './model.ts'
import type { AnswerRecord, GrowthRecord } from './records.ts'

export interface Write {
  /** Microseconds of the call. */
  readonly start: number
  /** Microseconds of its answer; Infinity for a writer that died before. */
  end: number
  outcome: AnswerRecord['outcome']
}

/** All states that one entity was given, by their number. One writer at a time has written them, one after the other. */
export interface EntityStates {
  readonly number: number
  readonly writes: (Write | undefined)[]
}

/** Gathers the writes of all writers. */
export function gatherStates(histories: Iterable<readonly GrowthRecord[]>): Map<number, EntityStates> {
  const entities = new Map<number, EntityStates>()
  for (const records of histories) {
    for (const record of records) {
      if (record.kind === 'write') {
        let entity = entities.get(record.number)
        if (entity === undefined)
          entities.set(record.number, (entity = { number: record.number, writes: [] }))
        entity.writes[record.state] = { start: record.at, end: Infinity, outcome: 'unknown' }
      } else if (record.kind === 'answer') {
        const write = entities.get(record.number)?.writes[record.state]
        if (write !== undefined) Object.assign(write, { end: record.at, outcome: record.outcome })
      }
    }
  }
  return entities
}

/** Returns when a later state was acknowledged, so that this one is over; Infinity if none was. -1: before the first state. */
export function replacedAt({ writes }: EntityStates, state: number): number {
  for (let later = state + 1; later < writes.length; later++) {
    const write = writes[later]
    if (write?.outcome === 'acknowledged') return write.end
  }
  return Infinity
}

/** Returns every state that the entity may have had at some time between two moments; -1 before its first state. */
export function possibleStates(entity: EntityStates, from: number, to: number): number[] {
  const { writes } = entity
  const possible: number[] = []
  // From the last state backward, until one was acknowledged before `from`: it has replaced all states before it.
  for (let state = writes.length - 1; state >= 0; state--) {
    const write = writes[state]
    if (write === undefined || !tookPlace(write) || write.start > to) continue
    possible.push(state)
    if (write.outcome === 'acknowledged' && write.end < from) return possible
  }
  return [...possible, -1]
}

/** Tells whether a read between two moments may have given this state; null for no entity. */
export function maySee(entity: EntityStates, seen: number | null, from: number, to: number): boolean {
  const possible = possibleStates(entity, from, to)
  if (seen === null) return possible.some((state) => state === -1 || isDeletion(entity.number, state))
  return possible.includes(seen) && !isDeletion(entity.number, seen)
}

/** True for a write that has taken place, or may have. */
export function tookPlace({ outcome }: Write): boolean {
  return outcome === 'acknowledged' || outcome === 'unknown'
}

/** Returns the states of an entity when nothing is in flight any more. */
export function lastStates(entity: EntityStates): number[] {
  return possibleStates(entity, Infinity, Infinity)
}
