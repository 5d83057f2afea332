import { isLooseleafError, type EntityId } from '@looseleaf/core'

/** An entity that one writer alone writes, with every state that it was given. */
export interface Tracked {
  readonly number: number
  readonly id: EntityId
  /** True if it is deleted and inserted again. */
  readonly isMortal: boolean
  /** Name of each state, undefined for a deleted entity. The number of a state is its `n`. */
  readonly states: (string | undefined)[]
  /** Number of the last acknowledged state. */
  acknowledged: number
  /** Private name that it has, or gets next. */
  name: string
}

/** Things that must not happen, and times. */
export interface Findings {
  readonly violations: string[]
  /** Errors of calls that the attack does not expect, with how often. */
  readonly failures: Map<string, number>
  writes: number
  reads: number
  queries: number
  refused: number
  longestMs: number
}

export function newFindings(): Findings {
  return {
    violations: [],
    failures: new Map(),
    writes: 0,
    reads: 0,
    queries: 0,
    refused: 0,
    longestMs: 0,
  }
}

export function failed(findings: Findings, call: string, error: unknown): void {
  const text = isLooseleafError(error)
    ? `${call}: ${error.code} ${error.message}`
    : `${call}: ${String(error)}`
  findings.failures.set(text, (findings.failures.get(text) ?? 0) + 1)
}

/** Tells whether a read that began after `since` was acknowledged may have this `n`, undefined for no entity. */
export function mayBe({ states }: Tracked, since: number, n: number | undefined): boolean {
  if (n !== undefined) return n >= since && n < states.length && states[n] !== undefined
  return states.slice(since).includes(undefined)
}
