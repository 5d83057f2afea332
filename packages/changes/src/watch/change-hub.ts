import { abortedError, type EntityRow } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine'
import { followChanges, placeAt } from '@looseleaf/protocol'

/** Gets the rows that were changed, some at a time. May not throw. */
export interface ChangeListener {
  changed(rows: readonly EntityRow[], shard: string): void
  /** Nothing more comes. */
  failed(error: unknown): void
}

/** The changes of a store for many listeners, read once for all; while there is none, nothing is read. */
export interface ChangeHub {
  /** Resolves when every write that begins from now on will reach the listener. */
  join(listener: ChangeListener): Promise<void>
  leave(listener: ChangeListener): void
}

const POLL_MS = 250

const hubs = new WeakMap<EngineContext, ChangeHub>()

/** The one hub of a store. */
export function hubOf(context: EngineContext): ChangeHub {
  let hub = hubs.get(context)
  if (hub === undefined) hubs.set(context, (hub = createHub(context)))
  return hub
}

interface Following {
  readonly begun: Promise<void>
  readonly end: AbortController
}

function createHub(context: EngineContext): ChangeHub {
  const listeners = new Set<ChangeListener>()
  let following: Following | undefined

  function follow(): Following {
    const end = new AbortController()
    const { signal } = end
    const { shards } = context.driver
    const begin = async (): Promise<void> => {
      const floors = await Promise.all(shards.map(({ entities }) => entities.raiseFloor({ signal })))
      for (const [shard, floor] of floors.entries()) void one(shard, floor)
    }
    const one = async (shard: number, floor: number): Promise<void> => {
      const { name } = shards[shard]!
      const options = { pollMs: POLL_MS, signal, onRetry: () => {}, checkOpen: () => {} }
      try {
        for await (const rows of followChanges(context, shard, placeAt(floor), options))
          for (const listener of listeners) listener.changed(rows, name)
      } catch (error) {
        if (signal.aborted) return
        stop()
        const all = [...listeners]
        listeners.clear()
        for (const listener of all) listener.failed(error)
      }
    }
    // Whoever watches first may do so within a call or a trace.
    return { begun: context.events.detached(begin), end }
  }

  function stop(): void {
    following?.end.abort(abortedError(undefined))
    following = undefined
  }

  return {
    async join(listener) {
      listeners.add(listener)
      const joined = (following ??= follow())
      try {
        await joined.begun
      } catch (error) {
        listeners.delete(listener)
        if (following === joined) stop()
        throw error
      }
    },
    leave(listener) {
      listeners.delete(listener)
      if (listeners.size === 0) stop()
    },
  }
}
