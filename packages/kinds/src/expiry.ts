import { isLooseleafError, type Bag, type EntityId } from '@looseleaf/core'
import { isExpired } from '@looseleaf/index-engine'
import type { DataStore } from '@looseleaf/store'
import { versionOf, type Shape } from './shape.ts'

/** Treats entities of a kind whose time has passed as if they were deleted already. The clock is that of the process. */
export interface Expiry {
  /** Tells whether an entity is of the kind and has not expired. */
  isThere(bag: Bag): boolean
  /**
   * Makes a write. Deletes an expired entity of the kind that has its id, or a key of a unique index that it needs, and makes the write
   * again.
   */
  inPlaceOfExpired<T>(write: () => Promise<T>, signal: AbortSignal | undefined): Promise<T>
}

export function createExpiry(store: DataStore, shape: Shape): Expiry {
  const { expires } = shape
  const { time } = store.context
  const hasExpired = (bag: Bag): boolean => isExpired(bag, expires, time.now())

  /** Answers false where the entity of this id stays. */
  async function deleteIfExpired(id: EntityId, signal: AbortSignal | undefined): Promise<boolean> {
    const found = await store.get(id, { fresh: true, signal })
    // A cleaner, or another write, was first.
    if (found === undefined) return true
    if (!shape.isOf(found) || !hasExpired(found)) return false
    try {
      await store.delete(id, { ifVersion: versionOf(found), signal })
    } catch (error) {
      // It was written or deleted meanwhile: the write that is made again meets what is there now.
      if (!isLooseleafError(error, 'VERSION_MISMATCH')) throw error
    }
    return true
  }

  async function inPlaceOfExpired<T>(write: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
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
    isThere: expires === undefined ? shape.isOf : (bag) => shape.isOf(bag) && !hasExpired(bag),
    inPlaceOfExpired: expires === undefined ? (write) => write() : inPlaceOfExpired,
  }
}

/** The entity that has the id or the key that a write needs. */
function holderIn(error: unknown): EntityId | undefined {
  if (isLooseleafError(error, 'DUPLICATE_KEY')) return error.holder
  return isLooseleafError(error, 'ALREADY_EXISTS') ? error.entity : undefined
}
