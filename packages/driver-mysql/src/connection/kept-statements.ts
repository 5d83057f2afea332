import { platformTime } from '@looseleaf/core/internal'
import type { StatementHints } from '@looseleaf/driver-kysely/internal'

/** The statements that a connection keeps prepared. Without parsing, a single read takes two thirds of the time. */
export interface KeptStatements {
  /** Counts a use of the statement, and tells whether to send it prepared. A new one is kept if a place is free. */
  keeps(text: string, kind: NonNullable<StatementHints['keep']>): boolean
}

/**
 * Places per connection, and the number of uses after which a statement gets one. Statements without a place are sent as text, so
 * that none is prepared and dropped in turn. An index has several scans, and some occur once, as those of a migration or a sweep.
 */
const kinds = {
  common: { places: 48, uses: 1 },
  scan: { places: 24, uses: 8 },
} as const
/** Idle time after which a statement loses its place to a new one: its index may have been dropped. */
const IDLE_MS = 60_000
const MAX_COUNTED = 500

/** Largest number of prepared statements of a connection: the kept ones, and some with long parameters. */
export const MAX_PREPARED: number = kinds.common.places + kinds.scan.places + 16

/** `now`: milliseconds of a monotonic clock. */
export function createKeptStatements(now: () => number = platformTime.elapsed): KeptStatements {
  /** Time of the last use of each statement. */
  const kept = { common: new Map<string, number>(), scan: new Map<string, number>() }
  let uses = new Map<string, number>()

  return {
    keeps(text, kind) {
      const places = kept[kind]
      const time = now()
      if (places.has(text)) {
        places.set(text, time)
        return true
      }
      const count = (uses.get(text) ?? 0) + 1
      if (count < kinds[kind].uses) {
        if (uses.size === MAX_COUNTED) uses = new Map()
        uses.set(text, count)
        return false
      }
      if (places.size === kinds[kind].places) {
        const idle = places.entries().find(([, last]) => time - last > IDLE_MS)
        if (idle === undefined) return false
        places.delete(idle[0])
      }
      uses.delete(text)
      places.set(text, time)
      return true
    },
  }
}
