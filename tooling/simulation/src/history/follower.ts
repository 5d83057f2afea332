import { formatId, isLooseleafError, type EntityId } from '@looseleaf/core'
import type { DataStore } from '@looseleaf/store'
import type { Checker } from '../checks.ts'
import type { Owners } from '../world/owners.ts'

/** A consumer program that follows the changes of the store. Its state and cursor outlive its processes. */
export interface Follower {
  /** Continues at the stored cursor until the signal aborts. */
  follow(store: DataStore, signal: AbortSignal): Promise<void>
  /** Checks after a server crash that no delivered change was undone. */
  serverCrashed(): void
  /** Allows for delivered changes that a failover has undone. */
  failedOver(): void
  /** Tells whether it has the last state of every entity that it must have. */
  readonly hasAll: boolean
  /** Checks this when all is quiet. */
  checkAll(): void
}

export interface FollowerOptions {
  readonly owners: Owners
  readonly checker: Checker
  /** Milliseconds of virtual time. */
  readonly pollMs: number
}

export function createFollower({ owners, checker: { check }, pollMs }: FollowerOptions): Follower {
  const handed = new Map<EntityId, number>()
  let cursor: string | undefined
  let hasFailedOver = false

  const stored = (): readonly (readonly [EntityId, number])[] =>
    owners.rows().map(({ id, version }) => [formatId(id), version] as const)
  const behind = (): readonly string[] =>
    hasFailedOver ? [] : stored().flatMap(([id, version]) => (handed.get(id) === version ? [] : id))

  async function followFrom(store: DataStore, signal: AbortSignal): Promise<void> {
    for await (const change of store.changes({ from: cursor ?? 'beginning', pollMs, signal })) {
      const { id, version } = change
      const known = handed.get(id) ?? 0
      check(
        'changes of an entity never go back to an older version',
        !hasFailedOver && version < known && `${id} came at ${version} after ${known}`,
      )
      handed.set(id, version)
      // Stored together with the state that it stands for.
      cursor = change.cursor
    }
  }

  return {
    async follow(store, signal) {
      while (!signal.aborted) {
        try {
          return await followFrom(store, signal)
        } catch (error) {
          if (!isLooseleafError(error, 'CHANGES_GONE')) throw error
          // A follower that ends has no time to begin again, so it keeps its state and its cursor.
          if (signal.aborted) return
          // As the message tells: everything that no change confirms is dropped.
          cursor = undefined
          handed.clear()
        }
      }
    },
    serverCrashed() {
      const storedVersions = new Map(stored())
      for (const [id, version] of handed) {
        check(
          'a crash never undoes a delivered change',
          !hasFailedOver && version > (storedVersions.get(id) ?? 0) && `${id} at ${version} is gone`,
        )
      }
    },
    failedOver() {
      hasFailedOver = true
      handed.clear()
    },
    get hasAll() {
      return behind().length === 0
    },
    checkAll() {
      const missing = behind()
      check(
        'a follower has the last state of every entity',
        missing.length > 0 && `a follower has not heard of ${missing.join(', ')}`,
      )
    },
  }
}
