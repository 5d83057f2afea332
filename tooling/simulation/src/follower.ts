import { formatId, isLooseleafError, type EntityId } from '@looseleaf/core'
import type { DataStore } from '@looseleaf/store'
import type { ReferenceDriver } from '@looseleaf-tooling/reference-driver'
import type { Checker } from './checks.ts'

/** A program that follows the changes of the store: what it has made of them, and its cursor, outlive its processes. */
export interface Follower {
  /** Goes on where the process before was, until the signal fires. */
  follow(store: DataStore, signal: AbortSignal): Promise<void>
  /** What a crash undoes nobody may have been handed. */
  serverCrashed(): void
  /** What was handed over may be gone. */
  failedOver(): void
  /** Whether it has the last state of every entity, or need not have it. */
  readonly hasAll: boolean
  /** Looks for that when all is quiet. */
  checkAll(): void
}

/** Milliseconds of virtual time. */
const POLL_MS = 60

export function createFollower(driver: ReferenceDriver, { check }: Checker): Follower {
  const handed = new Map<EntityId, number>()
  let cursor: string | undefined
  let hasFailedOver = false

  const stored = (): readonly (readonly [EntityId, number])[] =>
    driver.shards.flatMap(({ entities }) =>
      entities.rows.map(({ id, version }) => [formatId(id), version] as const),
    )
  const behind = (): readonly string[] =>
    hasFailedOver ? [] : stored().flatMap(([id, version]) => (handed.get(id) === version ? [] : id))

  return {
    async follow(store, signal) {
      const from = cursor ?? 'beginning'
      try {
        for await (const change of store.changes({ from, pollMs: POLL_MS, signal })) {
          const { id, version } = change
          const known = handed.get(id) ?? 0
          check(
            'a change is never older than one before of the same entity',
            !hasFailedOver && version < known && `${id} came at ${version} after ${known}`,
          )
          handed.set(id, version)
          // Kept together with what was made of it.
          cursor = change.cursor
        }
      } catch (error) {
        if (!isLooseleafError(error, 'ABORTED')) throw error
      }
    },
    serverCrashed() {
      const there = new Map(stored())
      for (const [id, version] of handed) {
        check(
          'a change that was handed over is not undone by a crash',
          !hasFailedOver && version > (there.get(id) ?? 0) && `${id} at ${version} is gone`,
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
        'who follows has the last state of every entity',
        missing.length > 0 && `a follower has not heard of ${missing.join(', ')}`,
      )
    },
  }
}
