import { randomBytes } from 'node:crypto'
import { platformTime } from '@looseleaf/core'
import type { Trace } from '@looseleaf/store'

export interface KeptTrace {
  /** Of an address; nobody guesses it. */
  readonly id: string
  /** What the work was, for people. */
  readonly title: string
  /** When it began. */
  readonly at: Date
  readonly trace: Trace
}

export interface KeptTraces {
  keep(trace: Trace, title: string): KeptTrace
  find(id: string): KeptTrace | undefined
  /** The newest first. */
  all(): readonly KeptTrace[]
}

const MAX_TITLE = 200

/** Keeps the last so many traces. */
export function createKeptTraces(most: number): KeptTraces {
  const kept = new Map<string, KeptTrace>()
  return {
    keep(trace, title) {
      const at = new Date(platformTime.now() - (platformTime.elapsed() - trace.startedAt))
      const one = { id: randomBytes(9).toString('base64url'), title: title.slice(0, MAX_TITLE), at, trace }
      kept.set(one.id, one)
      if (kept.size > most) kept.delete(kept.keys().next().value as string)
      return one
    },
    find: (id) => kept.get(id),
    all: () => [...kept.values()].toReversed(),
  }
}
