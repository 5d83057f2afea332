import { idKey } from '@looseleaf/core'
import type { RowPlace } from './cursor.ts'
import { indexOfPlace, placeOrder } from './place-order.ts'
import type { QueryOrder } from './query-types.ts'
import type { PagePlan, RowSource, RowsStart } from './row-source.ts'
import type { ReadEntity } from './to-entity.ts'

/** Decides at which row of a call an entity is taken, batch by batch; see `runQuery` for the rule. */
export interface RowJudge {
  /** Begins with the next batch of rows: gives a row of each entity that has to be read for it, see `QueryPorts.read`. */
  begin(batch: readonly RowPlace[]): readonly RowPlace[]
  /** Takes in the next ones that were read, in the order that `begin` asked for. */
  learn(entities: readonly (ReadEntity | undefined)[]): void
  /** Whether the entity of this row of the batch was read. */
  knows(i: number): boolean
  /** The entity to take at this row of the batch; undefined when the row is to be discarded. All before it were judged. */
  entityAt(i: number): ReadEntity | undefined
  /** Says that the entity which `entityAt` has just given is on the page: no other row gives it again. */
  markTaken(i: number): void
  /**
   * Takes an entity that was passed over because its own row was still to come, and did not, since it was deferred: the
   * first of those whose place is before this one, or of all.
   */
  takeOverdue(before?: RowPlace): Candidate | undefined
  /** Bytes of the entities that were passed over and not taken since, see `ReadEntity`. */
  passedBytes(): number
}

/** An answer, and where it stands: at the first row, in the query's order, that it should have; so, backward, at the last. */
export interface Candidate extends RowPlace {
  readonly entity: ReadEntity
  readonly owner: Met
}

/** An entity that rows have led to. */
interface Met {
  readonly entityId: Uint8Array
  /** Its number among those that its batch has asked for. */
  readonly number: number
  /** Undefined until it was read. Null: not an answer, or not one any more. */
  candidate: Candidate | null | undefined
}

/** `order` is that in which the rows come: the query's, or the reverse for a page backward. */
export function createJudge(
  plan: PagePlan,
  order: QueryOrder,
  start: RowsStart | undefined,
  rows: RowSource,
): RowJudge {
  const compare = placeOrder(plan.directions, order)
  /** By the entity's identity. */
  const met = new Map<string, Met>()
  let batch: readonly RowPlace[] = []
  /** Of each row of the batch. */
  let entities: Met[] = []
  /** Those that were passed over, by their places in this order: on a page backward there may be many. */
  const passed: Candidate[] = []
  let passedBytes = 0
  /** What was asked for, in order, and how many of it were learned. */
  let asked: Met[] = []
  let learned = 0

  function candidateOf(entity: ReadEntity | undefined, owner: Met): Candidate | null {
    if (entity === undefined) return null
    const key = entity.key ?? plan.firstKey(entity.bag)
    if (key === undefined) return null
    const candidate = { key, entityId: owner.entityId, entity, owner }
    const distance = start === undefined ? 1 : compare(candidate, start)
    return distance > 0 || (distance === 0 && start?.inclusive === true) ? candidate : null
  }

  function pass(candidate: Candidate): void {
    const { at, isThere } = indexOfPlace(passed, candidate, compare)
    if (isThere) return
    passed.splice(at, 0, candidate)
    passedBytes += candidate.entity.bytes
  }

  function take(candidate: Candidate): void {
    candidate.owner.candidate = null
    if (passed.length === 0) return
    const { at, isThere } = indexOfPlace(passed, candidate, compare)
    if (!isThere) return
    passed.splice(at, 1)
    passedBytes -= candidate.entity.bytes
  }

  return {
    begin(next) {
      batch = next
      entities = []
      asked = []
      learned = 0
      const unread: RowPlace[] = []
      for (const row of batch) {
        const identity = idKey(row.entityId)
        let entity = met.get(identity)
        if (entity === undefined) {
          entity = { entityId: row.entityId, number: unread.length, candidate: undefined }
          met.set(identity, entity)
          asked.push(entity)
          unread.push(row)
        } else if (entity.candidate === undefined && isLater(row, unread[entity.number]!)) {
          unread[entity.number] = row
        }
        entities.push(entity)
      }
      return unread
    },
    learn(read) {
      for (const one of read) {
        const entity = asked[learned++]
        if (entity === undefined) return
        entity.candidate = candidateOf(one, entity)
      }
    },
    knows: (i) => entities[i]!.candidate !== undefined,
    entityAt(i) {
      const row = batch[i] as RowPlace
      const { candidate } = entities[i]!
      if (candidate === undefined || candidate === null) return undefined
      if (compare(candidate, row) <= 0) return candidate.entity
      // Of the batch, those before this row are before the place too.
      const stillComes = indexOfPlace(batch, candidate, compare).isThere || rows.mayCome(candidate)
      if (!stillComes) return candidate.entity
      pass(candidate)
      return undefined
    },
    markTaken(i) {
      take(entities[i]!.candidate as Candidate)
    },
    takeOverdue(before) {
      const first = passed[0]
      if (first === undefined) return undefined
      if (before !== undefined && compare(first, before) >= 0) return undefined
      take(first)
      return first
    },
    passedBytes: () => passedBytes,
  }
}

/** A place where a page begins has no version: it comes first. */
function isLater({ version = 0 }: RowPlace, other: RowPlace): boolean {
  return version > (other.version ?? Infinity)
}
