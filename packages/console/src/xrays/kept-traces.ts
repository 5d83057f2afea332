import { randomBytes } from 'node:crypto'
import { platformTime } from '@looseleaf/core/internal'
import type { Trace } from '@looseleaf/store'

export interface KeptTrace {
  /** Random part of the address. */
  readonly id: string
  /** Name of the work, for people. */
  readonly title: string
  readonly at: Date
  /** Path of the page that the work rendered; undefined if it rendered none. */
  readonly page: string | undefined
  readonly trace: Trace
}

export interface KeptTraces {
  keep(trace: Trace, title: string, page?: string): KeptTrace
  find(id: string): KeptTrace | undefined
  /** Returns all traces, the newest first. */
  all(): readonly KeptTrace[]
}

const MAX_TITLE = 200

/** A path of this server. An address of another one begins with two slashes, or with a slash and a backslash. */
const PATH = /^\/(?![/\\])[^\s\\]*$/

/** Keeps the last `maxTraces` traces. */
export function createKeptTraces(maxTraces: number): KeptTraces {
  const kept = new Map<string, KeptTrace>()
  return {
    keep(trace, title, page) {
      const at = new Date(platformTime.now() - (platformTime.elapsed() - trace.startedAt))
      const id = randomBytes(9).toString('base64url')
      const isPath = page !== undefined && PATH.test(page)
      const added = { id, title: title.slice(0, MAX_TITLE), at, page: isPath ? page : undefined, trace }
      kept.set(added.id, added)
      if (kept.size > maxTraces) kept.delete(kept.keys().next().value as string)
      return added
    },
    find: (id) => kept.get(id),
    all: () => [...kept.values()].toReversed(),
  }
}
