import { tunedCleanIndex } from '@looseleaf/cleaner/internal'
import { isLooseleafError, type Time } from '@looseleaf/core'
import type { DataStore } from '@looseleaf/store'

export interface OperatorOptions {
  /**
   * Reopens the store; with `migrate` like `looseleaf init`, which restores lost parts of the catalog and
   * tables.
   */
  open(migrate: boolean): Promise<{ readonly store: DataStore }>
  readonly time: Time
  /** Whether writes in flight restart, as they should. */
  readonly restart: boolean
}

const CLEAN = { leaseMs: 500, settleMs: 20, pollMs: 50 }
/** Enough tries for a clean to succeed when one statement in ten fails. */
const MAX_TRIES = 12

/**
 * Repairs a failover that lost index rows, as `docs/operations.md` tells an operator to: `looseleaf clean
 * --restart`, after `looseleaf init` if that fails, waiting for leases. Returns false if it never succeeded.
 */
export async function repair({ open, time, restart }: OperatorOptions): Promise<boolean> {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    try {
      const { store } = await open(tries % 2 === 1)
      await tunedCleanIndex(store, undefined, { ...CLEAN, restart })
      await store.close()
      return true
    } catch (error) {
      if (!isLooseleafError(error)) throw error
      await time.sleep(10)
    }
  }
  return false
}
