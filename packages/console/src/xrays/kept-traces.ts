import { randomBytes } from 'node:crypto'
import { platformTime } from '@looseleaf/core/internal'
import type { Trace } from '@looseleaf/store'

export interface KeptTrace {
  /** Random part of the address. */
  readonly id: string
  /** Name of the work, for people. */
  readonly title: string
  readonly at: Date
  readonly trace: Trace
}

export interface KeptTraces {
  keep(trace: Trace, title: string): KeptTrace
  find(id: string): KeptTrace | undefined
  /** Returns all traces, the newest first. */
  all(): readonly KeptTrace[]
}

const MAX_TITLE = 200

/** Keeps the last `maxTraces` traces. */
export function createKeptTraces(maxTraces: number): KeptTraces {
  const kept = new Map<string, KeptTrace>()
  return {
    keep(trace, title) {
      const at = new Date(platformTime.now() - (platformTime.elapsed() - trace.startedAt))
      const added = { id: randomBytes(9).toString('base64url'), title: title.slice(0, MAX_TITLE), at, trace }
      kept.set(added.id, added)
      if (kept.size > maxTraces) kept.delete(kept.keys().next().value as string)
      return added
    },
    find: (id) => kept.get(id),
    all: () => [...kept.values()].toReversed(),
  }
}
