import type { StorePolicies } from '@looseleaf/core'
import { durationText } from './duration-text.ts'
import { grouped } from './text.ts'

/** What all processes of a store do, for people. */
export function policiesText({ deleteDelayMs, onIndexFailure, keepTombstonesMs }: StorePolicies): string {
  const rows =
    deleteDelayMs === 0
      ? 'go when no query needs them'
      : `stay for ${grouped(deleteDelayMs)} ms, as a failover may need them`
  const writes = onIndexFailure === 'fail' ? 'fail' : 'are committed, and their rows follow'
  return `Superfluous index rows ${rows}. Writes without the shard of an index row ${writes}. Tombstones are kept for ${durationText(keepTombstonesMs)}.`
}
