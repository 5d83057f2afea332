import { abortedError, isLooseleafError, LooseleafError, type EntityRow, type Shard } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine'
import { followChanges, placeAt } from '@looseleaf/protocol'

/** Gets the rows that were changed, some at a time. May not throw. */
export interface ChangeListener {
  changed(rows: readonly EntityRow[], shard: string): void
  /** Changes of a shard that has not answered until now may have been missed. */
  missed(): void
  /** Nothing more comes. */
  failed(error: unknown): void
}

/** The changes of a store for many listeners, read once for all; while there is none, nothing is read. */
export interface ChangeHub {
  /** Resolves when every write that begins from now on will reach the listener; for a shard that does not answer yet, writes do from its call of `missed` on. */
  join(listener: ChangeListener): Promise<void>
  leave(listener: ChangeListener): void
}

const POLL_MS = 250
const RETRY_MS = 1_000
/** A shard that takes longer to answer is late: others do not wait for it. */
const LATE_MS = 1_000

const mayPass = (error: unknown): boolean => isLooseleafError(error) && error.retryable

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
      const floors = await Promise.allSettled(shards.map(inTime))
      for (const answer of floors) {
        if (answer.status === 'rejected' && !mayPass(answer.reason)) throw answer.reason
      }
      for (const [shard, answer] of floors.entries())
        void (answer.status === 'fulfilled' ? one(shard, answer.value) : late(shard))
    }
    const inTime = async ({ name, entities }: Shard): Promise<number> => {
      const isOver = new AbortController()
      const tooLate = async (): Promise<never> => {
        await context.time.sleep(LATE_MS, AbortSignal.any([signal, isOver.signal]))
        throw new LooseleafError('DEADLINE', `${name} has not answered within ${LATE_MS} ms.`, {
          shard: name,
        })
      }
      try {
        return await Promise.race([entities.raiseFloor({ signal }), tooLate()])
      } finally {
        isOver.abort()
      }
    }
    const late = async (shard: number): Promise<void> => {
      while (!signal.aborted) {
        try {
          await context.time.sleep(RETRY_MS, signal)
          const floor = await shards[shard]!.entities.raiseFloor({ signal })
          for (const listener of listeners) listener.missed()
          return await one(shard, floor)
        } catch (error) {
          if (!signal.aborted && !mayPass(error)) return fail(error)
        }
      }
    }
    const one = async (shard: number, floor: number): Promise<void> => {
      const { name } = shards[shard]!
      const options = { pollMs: POLL_MS, signal, onRetry: () => {}, checkOpen: () => {} }
      try {
        for await (const { rows } of followChanges(
          context,
          shard,
          { ...placeAt(floor), since: floor },
          options,
        ))
          for (const listener of listeners) listener.changed(rows, name)
      } catch (error) {
        if (!signal.aborted) fail(error)
      }
    }
    const fail = (error: unknown): void => {
      stop()
      const all = [...listeners]
      listeners.clear()
      for (const listener of all) listener.failed(error)
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
