import type { Bag, Codec, EntityId } from '@looseleaf/core'
import type { ReferenceDriver } from '@looseleaf-tooling/reference-driver'
import type { Checker } from './checks.ts'
import { createStates, type State, type States } from './states.ts'

/** An operation under way, from the moment it was called. */
export interface Operation {
  readonly number: number
  readonly since: number
  /** The time then, in milliseconds. */
  readonly at: number
  /** How many writes had been acknowledged. */
  readonly acknowledged: number
  /** The store that does it. */
  readonly store: object | undefined
  /** What was last to be written. */
  wanted?: Bag
}

/** How old an answer may be. */
export interface Bound {
  /** Milliseconds, at its call. */
  readonly ms: number
  /** A moment whose state it has to know. */
  readonly after?: number | undefined
}

/** What a query asked for. */
export interface AskedQuery {
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
  /** In milliseconds. */
  readonly now: () => number
  /** False where rows are allowed to be missing for a while, so that a query may lack something. */
  promisesRows(operation: Operation): boolean
  /** True where rows may be pending, which a count does not say. */
  readonly mayDefer: boolean
  /** True where a failover may lose what was acknowledged. */
  readonly mayFailOver: boolean
}

/** What answers are held against: what the databases went through. */
export interface Evidence extends Omit<HistoryOptions, 'checker'> {
  readonly check: Checker['check']
  readonly states: States
  readonly counts: Counts
  /** The states that an entity had at some time of an operation, the oldest first. */
  during(operation: Operation, id: EntityId): readonly State[]
  /** The operation as one that may answer what is older: all answers are held to what was so at some time since then. */
  within(operation: Operation, bound: Bound): Operation
}

export function createEvidence(driver: ReferenceDriver, codec: Codec, options: HistoryOptions): Evidence {
  const { checker, now, mayDefer, mayFailOver } = options
  const states = createStates(driver, codec, now)
  return {
    check: checker.check,
    now,
    mayDefer,
    mayFailOver,
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
