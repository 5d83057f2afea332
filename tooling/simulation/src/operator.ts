import { cleanIndex } from '@looseleaf/cleaner'
import { isLooseleafError, type Time } from '@looseleaf/core'
import type { DataStore } from '@looseleaf/store'

export interface OperatorOptions {
  /** Opens the store anew; with `migrate` as `looseleaf init` does, which makes good what is lost of the catalog and tables. */
  open(migrate: boolean): Promise<{ readonly store: DataStore }>
  readonly time: Time
  /** Whether writes that are under way have to begin again, as they should. */
  readonly restart: boolean
}

const CLEAN = { leaseMs: 500, settleMs: 20, pollMs: 50 }
/** Where a statement in ten fails, a clean seldom goes through. */
const MAX_TRIES = 12

/**
 * Somebody who does what `docs/operations.md` says after a failover that has lost index rows: `looseleaf clean --restart`,
 * and `looseleaf init` before it where it fails, which waits for leases. False where it never went through.
 */
export async function repair({ open, time, restart }: OperatorOptions): Promise<boolean> {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    try {
      const { store } = await open(tries % 2 === 1)
      await cleanIndex(store, undefined, { ...CLEAN, restart })
      await store.close()
      return true
    } catch (error) {
      if (!isLooseleafError(error)) throw error
      await time.sleep(10)
    }
  }
  return false
}
