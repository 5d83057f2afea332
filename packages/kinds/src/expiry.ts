import { isLooseleafError, type Bag, type EntityId } from '@looseleaf/core'
import { isExpired } from '@looseleaf/index-engine/internal'
import type { DataStore } from '@looseleaf/store'
import { versionOf, type Shape } from './shape.ts'

/** Treats expired entities of a kind as deleted, by the clock of the process. */
export interface Expiry {
  isVisible(bag: Bag): boolean
  /**
   * Runs a write. If an expired entity of the kind holds its id, or a unique key that it needs, deletes that entity and retries the
   * write.
   */
  replaceExpired<T>(write: () => Promise<T>, signal: AbortSignal | undefined): Promise<T>
  /** Deletes the expired entity of the kind that holds the key in a write's way, by the write's error. Returns whether it may be retried. */
  removesExpired(error: unknown, signal: AbortSignal | undefined): Promise<boolean>
}

export function createExpiry(store: DataStore, shape: Shape): Expiry {
  const { expires } = shape
  const { time } = store.context
  const hasExpired = (bag: Bag): boolean => isExpired(bag, expires, time.now())

  /** Deletes the holder of an id or a key if it is an expired entity of the kind. Returns whether the write can be retried. */
  async function deleteIfExpired(id: EntityId, signal: AbortSignal | undefined): Promise<boolean> {
    const found = await store.get(id, { fresh: true, signal })
    // A cleaner or another write has deleted it already.
    if (found === undefined) return true
    if (!shape.isOf(found) || !hasExpired(found)) return false
    try {
      await store.delete(id, { ifVersion: versionOf(found), signal })
    } catch (error) {
      // Another process has written or deleted the entity. The retried write sees its current state.
      if (!isLooseleafError(error, 'VERSION_MISMATCH')) throw error
    }
    return true
  }

  async function replaceExpired<T>(write: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    for (;;) {
      try {
        return await write()
      } catch (error) {
        const holder = holderIn(error)
        if (holder === undefined || !(await deleteIfExpired(holder, signal))) throw error
      }
    }
  }

  return {
    isVisible: expires === undefined ? shape.isOf : (bag) => shape.isOf(bag) && !hasExpired(bag),
    async removesExpired(error, signal) {
      if (expires === undefined || !isLooseleafError(error, 'DUPLICATE_KEY')) return false
      return deleteIfExpired(error.holder as EntityId, signal)
    },
    replaceExpired: expires === undefined ? (write) => write() : replaceExpired,
  }
}

/** Returns the entity that holds the id or the key which a write needs, by the write's error. */
function holderIn(error: unknown): EntityId | undefined {
  if (isLooseleafError(error, 'DUPLICATE_KEY')) return error.holder
  return isLooseleafError(error, 'ALREADY_EXISTS') ? error.entity : undefined
}
