import { isLooseleafError, LooseleafError, type Shard } from '@looseleaf/core'
import { abortedError, getOrInsert, type EntityRow } from '@looseleaf/core/internal'
import { presentEntries, type EngineContext } from '@looseleaf/index-engine/internal'
import { followChanges, forEachShard, placeAt, type FollowedPlace } from '@looseleaf/protocol/internal'

/** Receives changed rows in groups. Its methods must not throw. */
export interface ChangeListener {
  changed(rows: readonly EntityRow[], shard: string): void
  /** Called when a shard answers late: its earlier changes may have been missed. */
  missed(): void
  /** Called once, with the error that ended the following. No further call comes. */
  failed(error: unknown): void
}

/** Reads the changes of a store once for many listeners, and only while there is a listener. */
export interface ChangeHub {
  /** Resolves when every later write will reach the listener. Writes of a shard that does not answer yet reach it after its call of `missed`. */
  join(listener: ChangeListener): Promise<void>
  leave(listener: ChangeListener): void
}

const POLL_MS = 250
const RETRY_MS = 1_000
/** Milliseconds after which `join` stops waiting for a shard that does not answer. */
const LATE_MS = 1_000

const isTransient = (error: unknown): boolean => isLooseleafError(error) && error.retryable

const hubs = new WeakMap<EngineContext, ChangeHub>()

/** Returns the hub of a store, and creates it on first use. */
export function hubOf(context: EngineContext): ChangeHub {
  return getOrInsert(hubs, context, createHub)
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
    /** By shard number: the places up to which the listeners have the changes. */
    const places: FollowedPlace[] = []
    const begin = async (): Promise<void> => {
      const present = presentEntries(context.driver)
      const answers = await Promise.allSettled(present.map(([, shard]) => raiseFloorInTime(shard)))
      const floors = new Map(answers.map((answer, i) => [present[i]![0], answer]))
      for (const answer of answers) {
        if (answer.status === 'rejected' && !isTransient(answer.reason)) throw answer.reason
      }
      void forEachShard(context, {
        signal,
        begin(shard) {
          const answer = floors.get(shard)
          // A shard that joins later is followed from its beginning: nothing was on it before. A removed one has no changes.
          if (answer === undefined) void followShard(shard, 0)
          else
            void (answer.status === 'fulfilled' ? followShard(shard, answer.value) : followLateShard(shard))
        },
      })
    }
    const raiseFloorInTime = async ({ name, entities }: Shard): Promise<number> => {
      const answered = new AbortController()
      const tooLate = async (): Promise<never> => {
        await context.time.sleep(LATE_MS, AbortSignal.any([signal, answered.signal]))
        throw new LooseleafError('DEADLINE', `${name} has not answered within ${LATE_MS} ms.`, {
          shard: name,
        })
      }
      try {
        return await Promise.race([entities.raiseFloor({ signal }), tooLate()])
      } finally {
        answered.abort()
      }
    }
    const followLateShard = async (shard: number): Promise<void> => {
      while (!signal.aborted) {
        try {
          await context.time.sleep(RETRY_MS, signal)
          const floor = await shards[shard]!.entities.raiseFloor({ signal })
          for (const listener of listeners) listener.missed()
          return await followShard(shard, floor)
        } catch (error) {
          if (!signal.aborted && !isTransient(error)) return fail(error)
        }
      }
    }
    const followShard = async (shard: number, floor: number): Promise<void> => {
      const { name } = shards[shard]!
      const placeOn = (other: number): FollowedPlace | undefined => places[other]
      const options = { pollMs: POLL_MS, signal, onRetry: () => {}, checkOpen: () => {}, placeOn }
      const from = (places[shard] = { ...placeAt(floor), since: floor })
      try {
        for await (const { rows, place } of followChanges(context, shard, from, options)) {
          if (rows.length > 0) for (const listener of listeners) listener.changed(rows, name)
          places[shard] = place
        }
      } catch (error) {
        if (!signal.aborted) fail(error)
      }
    }
    const fail = (error: unknown): void => {
      stop()
      const failedListeners = [...listeners]
      listeners.clear()
      for (const listener of failedListeners) listener.failed(error)
    }
    // The first caller may be inside a call or a trace, and the following outlives both.
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
