import { explore, type Event, type Exploration } from '../explore.ts'
import { nearQuery, read, type NearQueryOptions } from './row-queries.ts'
import {
  byKey,
  indexIn,
  missingNearRow,
  nearWorld,
  noNearMemory,
  type AtOnceRule,
  type NearIndex,
  type NearProcess,
  type NearWorld,
  type NearWorldOptions,
} from './row-world.ts'
import type { NearGuards } from './row-guards.ts'
import { nearWriter, type NearWriterOptions } from './row-writers.ts'

interface Course {
  readonly world?: NearWorldOptions
  /** Processes that must end. */
  readonly callers: readonly NearProcess[]
  readonly others?: readonly NearProcess[]
  readonly events?: readonly Event<NearWorld>[]
  readonly crashes?: number
}

/** Makes the processes of a situation by its guards, its indexes, and the rule of rows that go at once. */
interface Parts {
  readonly g: NearGuards
  writes(states: readonly (readonly string[])[], options?: Partial<NearWriterOptions>): NearProcess
  /** Asks for these keys. */
  asks(
    keys: readonly string[],
    statements: NearQueryOptions['statements'],
    options?: Partial<NearQueryOptions>,
  ): NearProcess
  readonly indexes: readonly NearIndex[]
}

export type NearSituations = Readonly<Record<string, NearSituation>>

export interface NearSituation {
  /** Has more than about 2,000 states, so that only a long run visits all of them. */
  readonly isLarge?: true
  readonly indexes?: readonly NearIndex[]
  readonly build: (parts: Parts) => Course
  /** Guards that it needs: without any one of them the promise must break. */
  readonly guards: readonly (keyof NearGuards)[]
  /** Guards that it needs only if rows on one shard may go at once. */
  readonly localGuards?: readonly (keyof NearGuards)[]
}

export const page = (keys: readonly string[]) => [read(0, byKey, keys)]
export const scatter = (keys: readonly string[]) => [read(0, byKey, keys), read(1, byKey, keys)]
export const backward = (keys: readonly string[]) => scatter(keys).toReversed()

export const K_NEAR_LATE = indexIn('own', false)
export const K_FAR_LATE = indexIn('other', false)
export const K_NEAR = indexIn('own', true)
export const K_FAR = indexIn('other', true)

/** Keys of which a query asks. */
export const TWO_NEAR = ['n1', 'n2']
export const NEAR_OR_SAME = ['n1', 's1']
export const TWO_FAR_ONE_NEAR = ['f1', 'f2', 'n1']
export const TWO_NEAR_ONE_FAR = ['n1', 'n2', 'f1']

export function checkNear(
  { indexes = [byKey], build }: NearSituation,
  rule: AtOnceRule,
  guards: NearGuards,
): Exploration {
  const parts: Parts = {
    g: guards,
    indexes,
    writes: (states, options = {}) => nearWriter(states, guards, { indexes, rule, ...options }),
    asks: (asked, statements, options = {}) => nearQuery(guards, { asked, statements, ...options }),
  }
  const { world, callers, others = [], events = [], crashes = 0 } = build(parts)
  return explore({
    world: nearWorld({ indexes, ...world }),
    local: noNearMemory,
    processes: [...callers, ...others],
    events,
    crashes,
    always: (state) => missingNearRow(state, indexes),
    atRest(state, waiting) {
      const stuck = waiting.find((process) => process < callers.length)
      // A query that has stopped dead ends in time, which this model does not have.
      const areEnded = Object.keys(state.queries).length === 0
      return stuck === undefined || !areEnded ? undefined : `P${stuck} waits for ever`
    },
  })
}
