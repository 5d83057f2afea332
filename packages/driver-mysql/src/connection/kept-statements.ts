import { platformTime } from '@looseleaf/core'
import type { StatementHints } from '@looseleaf/driver-kysely'

/** What a connection keeps prepared, which spares the server the parsing: a lone read takes two thirds of the time. */
export interface KeptStatements {
  /** Whether this one is kept, from now on if there is a place for it. */
  keeps(text: string, kind: NonNullable<StatementHints['keep']>): boolean
}

/**
 * Places, and how often a statement has to come before it gets one. What comes beyond them goes as text, so that none is prepared anew
 * again and again. Of scans each index has several, and some come once: a migration's, or those of a cleaner that passes.
 */
const kinds = {
  common: { places: 48, uses: 1 },
  scan: { places: 24, uses: 8 },
} as const
/** The place of a statement that did not come for so long is another's: its index may have been dropped. */
const IDLE_MS = 60_000
/** Texts whose uses are counted. */
const MAX_COUNTED = 500

/** Statements that are prepared on a connection at the most: those that are kept, and some with long parameters. */
export const MAX_PREPARED: number = kinds.common.places + kinds.scan.places + 16

/** `now`: milliseconds of a clock that does not run back. */
export function createKeptStatements(now: () => number = platformTime.elapsed): KeptStatements {
  /** When each came last. */
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
      const used = (uses.get(text) ?? 0) + 1
      if (used < kinds[kind].uses) {
        if (uses.size === MAX_COUNTED) uses = new Map()
        uses.set(text, used)
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
