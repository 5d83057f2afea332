import type { Source } from '../../kinds/source.ts'

/** New entries of a source per day, and of its first fetch. So no feed fills the store. */
export const NEW_ENTRIES_PER_DAY = 1_000

const DAY_MS = 24 * 60 * 60_000

/** Returns the quota of a source, which begins anew a day after its beginning. */
export function quotaOf({ quota }: Pick<Source, 'quota'>, now: Date): NonNullable<Source['quota']> {
  const isOver = quota === undefined || now.getTime() - quota.since.getTime() >= DAY_MS
  return isOver ? { since: now, used: 0 } : quota
}

/** Returns the time from which a source whose quota is used up gets new entries again; undefined if it gets some now. */
export function endOfQuota(source: Pick<Source, 'quota'>, now: Date): Date | undefined {
  const { since, used } = quotaOf(source, now)
  return used < NEW_ENTRIES_PER_DAY ? undefined : new Date(since.getTime() + DAY_MS)
}
