import type { Bag, Codec, EntityId } from '@looseleaf/core'
import type { Owners } from '../world/owners.ts'
import type { Checker } from '../checks.ts'
import { createStates, type State, type States } from './states.ts'

/** An operation in flight, as of its call. */
export interface Operation {
  readonly number: number
  readonly since: number
  /** Time of the call, in milliseconds. */
  readonly at: number
  /** Number of writes acknowledged before the call. */
  readonly acknowledged: number
  /** The store that runs it. */
  readonly store: object | undefined
  /** The last bag that it tried to write. */
  wanted?: Bag
}

/** Greatest age of an answer. */
export interface Bound {
  /** Milliseconds before the call. */
  readonly ms: number
  /** A moment whose state the answer must include. */
  readonly after?: number | undefined
}

/** Conditions of a query. */
export interface SearchRequest {
  readonly what: string
  matches(bag: Bag): boolean
}

export interface Counts {
  operations: number
  acknowledged: number
  failed: number
  unknown: number
  reads: number
  queries: number
}

export interface HistoryOptions {
  readonly checker: Checker
  /** Current time in milliseconds. */
  readonly now: () => number
  /** False if rows may be missing for a while, so that a query may lack entities. */
  promisesRows(operation: Operation): boolean
  /** True if rows may be pending, which a count does not report. */
  readonly mayDefer: boolean
  /** True if buckets may move. */
  readonly mayMove: boolean
  /** True if a failover may undo acknowledged writes. */
  readonly mayFailOver: boolean
}

/** States of the databases, against which answers are checked. */
export interface Evidence extends Omit<HistoryOptions, 'checker'> {
  readonly check: Checker['check']
  readonly states: States
  readonly counts: Counts
  /** Returns the states that an entity had at any time of an operation, oldest first. */
  during(operation: Operation, id: EntityId): readonly State[]
  /** Returns the operation with an earlier start: its answers may show any state since then. */
  within(operation: Operation, bound: Bound): Operation
}

export function createEvidence(owners: Owners, codec: Codec, options: HistoryOptions): Evidence {
  const { checker, now, mayDefer, mayFailOver, mayMove } = options
  const states = createStates(owners, codec, now)
  return {
    check: checker.check,
    now,
    mayDefer,
    mayFailOver,
    mayMove,
    promisesRows: (operation) => options.promisesRows(operation),
    states,
    counts: { operations: 0, acknowledged: 0, failed: 0, unknown: 0, reads: 0, queries: 0 },
    during: ({ since }, id) => states.during(since, id),
    within(operation, { ms, after = 0 }) {
      const since = Math.max(after, states.momentBefore(operation.at - ms))
      return { ...operation, since: Math.min(operation.since, since) }
    },
  }
}
