import { idKey } from '@looseleaf/core/internal'
import type { QueryOrder } from '../definitions/index-reader.ts'
import type { RowPlace } from './cursor.ts'
import { findPlace, placeOrder } from './place-order.ts'
import type { PagePlan, RowSource, RowsStart } from './row-source.ts'
import type { ReadEntity } from '../bodies/to-entity.ts'

/** Decides at which row of a call an entity goes on the page, batch by batch. `runQuery` has the rule. */
export interface RowJudge {
  /** Starts a batch of rows. Returns one row per entity that the batch needs and the call has not read, see `QueryPorts.read`. */
  begin(batch: readonly RowPlace[]): readonly RowPlace[]
  /** Receives the next entities, in the order in which `begin` listed their rows. */
  learn(entities: readonly (ReadEntity | undefined)[]): void
  /** Tells whether the entity of row `i` of the batch was read. */
  knows(i: number): boolean
  /** Returns the entity that goes on the page at row `i`; undefined if the row is discarded. Call it for the rows in turn. */
  entityAt(i: number): ReadEntity | undefined
  /** Marks the entity of `entityAt(i)` as being on the page, so that no other row gives it again. */
  markTaken(i: number): void
  /**
   * Takes the first postponed entity whose own row has not come by this place, because the row is deferred. Without a place: the first
   * postponed entity.
   */
  takeOverdue(before?: RowPlace): Candidate | undefined
  /** Bytes of all postponed entities, see `ReadEntity`. */
  postponedBytes(): number
}

/**
 * A matching entity and its place: the first of its matching rows in the query's order. A page that is read backward meets that row
 * last.
 */
export interface Candidate extends RowPlace {
  readonly entity: ReadEntity
  readonly owner: FoundEntity
}

/** An entity to which at least one row has led. */
interface FoundEntity {
  readonly entityId: Uint8Array
  /** Its position in the list that `begin` returned. */
  readonly number: number
  /** Undefined until the entity is read. Null: it does not match, or is taken already. */
  candidate: Candidate | null | undefined
}

/** Creates a judge of rows that come in this order: the query's, or the reverse of it for a page that is read backward. */
export function createJudge(
  plan: PagePlan,
  order: QueryOrder,
  start: RowsStart | undefined,
  rows: RowSource,
): RowJudge {
  const compare = placeOrder(plan.directions, order)
  /** By `idKey`. */
  const found = new Map<string, FoundEntity>()
  let batch: readonly RowPlace[] = []
  let entities: FoundEntity[] = []
  /** Sorted by place. A page that is read backward may postpone many entities. */
  const postponed: Candidate[] = []
  let postponedBytes = 0
  /** Entities that `begin` requested, in order. The first `learned` of them have come. */
  let requested: FoundEntity[] = []
  let learned = 0

  function candidateOf(entity: ReadEntity | undefined, owner: FoundEntity): Candidate | null {
    if (entity === undefined) return null
    const key = entity.key ?? plan.firstKey(entity.bag)
    if (key === undefined) return null
    const candidate = { key, entityId: owner.entityId, entity, owner }
    const distance = start === undefined ? 1 : compare(candidate, start)
    return distance > 0 || (distance === 0 && start?.inclusive === true) ? candidate : null
  }

  function postpone(candidate: Candidate): void {
    const { position, isFound } = findPlace(postponed, candidate, compare)
    if (isFound) return
    postponed.splice(position, 0, candidate)
    postponedBytes += candidate.entity.bytes
  }

  function take(candidate: Candidate): void {
    candidate.owner.candidate = null
    if (postponed.length === 0) return
    const { position, isFound } = findPlace(postponed, candidate, compare)
    if (!isFound) return
    postponed.splice(position, 1)
    postponedBytes -= candidate.entity.bytes
  }

  return {
    begin(next) {
      batch = next
      entities = []
      requested = []
      learned = 0
      const unread: RowPlace[] = []
      for (const row of batch) {
        const identity = idKey(row.entityId)
        let entity = found.get(identity)
        if (entity === undefined) {
          entity = { entityId: row.entityId, number: unread.length, candidate: undefined }
          found.set(identity, entity)
          requested.push(entity)
          unread.push(row)
        } else if (entity.candidate === undefined && isLater(row, unread[entity.number]!)) {
          unread[entity.number] = row
        }
        entities.push(entity)
      }
      return unread
    },
    learn(read) {
      for (const entity of read) {
        const owner = requested[learned++]
        if (owner === undefined) return
        owner.candidate = candidateOf(entity, owner)
      }
    },
    knows: (i) => entities[i]!.candidate !== undefined,
    entityAt(i) {
      const row = batch[i] as RowPlace
      const { candidate } = entities[i]!
      if (candidate === undefined || candidate === null) return undefined
      if (compare(candidate, row) <= 0) return candidate.entity
      // The place is behind this row, so a row at it is in the rest of the batch or has not come yet.
      const mayCome = findPlace(batch, candidate, compare).isFound || rows.mayCome(candidate)
      if (!mayCome) return candidate.entity
      postpone(candidate)
      return undefined
    },
    markTaken(i) {
      take(entities[i]!.candidate as Candidate)
    },
    takeOverdue(before) {
      const first = postponed[0]
      if (first === undefined) return undefined
      if (before !== undefined && compare(first, before) >= 0) return undefined
      take(first)
      return first
    },
    postponedBytes: () => postponedBytes,
  }
}

/** Tells whether a row has a later stamp. The start of a page has no version and stays the row to read. */
function isLater({ version = 0 }: RowPlace, other: RowPlace): boolean {
  return version > (other.version ?? Infinity)
}
