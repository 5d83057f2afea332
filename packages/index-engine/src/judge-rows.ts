import { idKey, type IndexRow } from '@looseleaf/core'
import type { RowPlace } from './cursor.ts'
import { comparePlaces, type MergedRows } from './merge-rows.ts'
import type { QueryPlan } from './plan-query.ts'
import type { ReadEntity } from './to-entity.ts'

/** Decides at which row of a call an entity is taken, batch by batch; see `runQuery` for the rule. */
export interface RowJudge {
  /** Begins with the next batch of rows: gives the entities that have to be read for it, each once. */
  begin(batch: readonly IndexRow[]): readonly Uint8Array[]
  /** Takes in the next ones that were read, in the order that `begin` asked for. */
  learn(entities: readonly (ReadEntity | undefined)[]): void
  /** Whether the entity of this row of the batch was read. */
  knows(i: number): boolean
  /** The entity to take at this row of the batch; undefined when the row is to be discarded. All before it were judged. */
  entityAt(i: number): ReadEntity | undefined
  /** Says that the entity of this row is on the page: no other row gives it again. */
  markTaken(i: number): void
  /**
   * Takes an entity that was passed over because its own row was still to come, and did not, since it was deferred: the
   * first of those whose place is before this one, or of all.
   */
  takeOverdue(before?: RowPlace): Candidate | undefined
}

export interface Candidate {
  readonly entity: ReadEntity
  /** Where the entity belongs: the first row, in the query's order, that it should have. */
  readonly place: RowPlace
}

export function createJudge(plan: QueryPlan, start: RowPlace | undefined, rows: MergedRows): RowJudge {
  /** By the entity's identity. Null: not an answer, or not one any more. */
  const candidates = new Map<string, Candidate | null>()
  let batch: readonly IndexRow[] = []
  let identities: readonly string[] = []
  /** Those that were passed over. */
  const passed = new Map<string, Candidate>()
  /** What was asked for and not learned yet, in order. */
  let asked = new Map<string, Uint8Array>()

  function candidateOf(entity: ReadEntity | undefined, entityId: Uint8Array): Candidate | null {
    const key = entity === undefined ? undefined : plan.firstKey(entity.bag)
    if (entity === undefined || key === undefined) return null
    const place = { key, entityId }
    const onEarlierPage = start !== undefined && comparePlaces(place, start, plan.order) <= 0
    return onEarlierPage ? null : { entity, place }
  }

  return {
    begin(next) {
      batch = next
      identities = batch.map((row) => idKey(row.entityId))
      asked = new Map()
      for (const [i, identity] of identities.entries()) {
        if (!candidates.has(identity)) asked.set(identity, (batch[i] as IndexRow).entityId)
      }
      return [...asked.values()]
    },
    learn(entities) {
      const next = asked.entries()
      for (const entity of entities) {
        const { value } = next.next()
        if (value === undefined) return
        const [identity, entityId] = value
        candidates.set(identity, candidateOf(entity, entityId))
        asked.delete(identity)
      }
    },
    knows: (i) => candidates.has(identities[i] as string),
    entityAt(i) {
      const row = batch[i] as IndexRow
      const candidate = candidates.get(identities[i] as string)
      if (candidate === undefined || candidate === null) return undefined
      const { entity, place } = candidate
      if (comparePlaces(place, row, plan.order) <= 0) return entity
      const stillComes =
        batch.slice(i + 1).some((other) => comparePlaces(other, place, plan.order) === 0) ||
        rows.mayCome(plan.shardOf(place.key, row.entityId), place)
      if (!stillComes) return entity
      passed.set(identities[i] as string, candidate)
      return undefined
    },
    markTaken(i) {
      candidates.set(identities[i] as string, null)
      passed.delete(identities[i] as string)
    },
    takeOverdue(before) {
      const overdue = [...passed].filter(
        ([, { place }]) => before === undefined || comparePlaces(place, before, plan.order) < 0,
      )
      const [first] = overdue.toSorted(([, a], [, b]) => comparePlaces(a.place, b.place, plan.order))
      if (first === undefined) return undefined
      const [identity, candidate] = first
      candidates.set(identity, null)
      passed.delete(identity)
      return candidate
    },
  }
}
