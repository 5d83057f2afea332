import { durationText, grouped, type StorePolicies } from '@looseleaf/core/internal'

export function policiesText({ deleteDelayMs, onIndexFailure, keepTombstonesMs }: StorePolicies): string {
  const rows =
    deleteDelayMs === 0
      ? 'are deleted when no query needs them'
      : `stay for ${grouped(deleteDelayMs)} ms, because a failover may need them`
  const writes =
    onIndexFailure === 'fail' ? 'writes fail' : 'writes are committed and the cleaner adds their rows later'
  return `Superfluous index rows ${rows}. While the shard of an index row is down, ${writes}. Tombstones are kept for ${durationText(keepTombstonesMs)}.`
}
