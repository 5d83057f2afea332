import {
  countIn,
  countsIn,
  type EntityPageRow,
  parseObject,
  throwIfAborted,
  toObject,
  type UpdatedPlace,
} from '@looseleaf/core/internal'
import { longestBody } from '@looseleaf/index-engine/internal'
import { shardAt } from '@looseleaf/protocol/internal'
import type { Pass } from '../pass/pass.ts'

/** The part of a shard's updates that its tail has read. Times are in microseconds by the shard's clock. */
export interface TailWindow {
  /** All updates before this time were read, except those in the gap. Never above a floor of the shard. */
  seenUntil: number
  /** Time of the last round; 0 before the first. */
  lookedAt: number
  /** Older updates that a round had no time for, from `since` up to `before`. It is read from its newer end. */
  gap: { since: number; before: UpdatedPlace } | undefined
}

export interface WindowOptions {
  /** Largest number of rows read per round. */
  readonly rowsPerRound: number
  /** Age in milliseconds beyond which unread updates are left to the sweep. */
  readonly maxLagMs: number
}

/**
 * Yields pages of the updates since the last round, newest first, then of the gap. Long bodies are left out of the pages. Updates that the round
 * has no time for become the gap. The window advances only when the caller takes the next page, so an interrupted page is read again.
 */
export async function* updatedPages(
  pass: Pass,
  shard: number,
  window: TailWindow,
  { rowsPerRound, maxLagMs }: WindowOptions,
): AsyncGenerator<readonly EntityPageRow[], void, undefined> {
  const { until, now } = await floorFor(pass, shard)
  // A failover may have lost commits and the floor. The new primary then uses times again that were read before.
  window.seenUntil = Math.min(window.seenUntil, until)
  const oldest = now - maxLagMs * 1000
  const since = Math.max(oldest, window.seenUntil)
  const advance = (): void => {
    window.seenUntil = until
    window.lookedAt = now
  }
  let budget = rowsPerRound
  const oldGap = window.gap
  if (since < until) {
    const before = { updated: until, addedId: 0 }
    for await (const { rows, rest } of updatesBetween(pass, shard, { since, before })) {
      yield rows
      budget -= rows.length
      if (rest !== undefined && budget <= 0) {
        window.gap = { since: Math.min(rest.since, oldGap?.since ?? Infinity), before: rest.before }
        advance()
        return
      }
    }
  }
  advance()
  if (window.gap === undefined) return
  if (window.gap.before.updated < oldest) window.gap = undefined
  else {
    for await (const { rows, rest } of updatesBetween(pass, shard, {
      ...window.gap,
      since: Math.max(oldest, window.gap.since),
    })) {
      yield rows
      budget -= rows.length
      window.gap = rest
      if (budget <= 0) return
    }
    window.gap = undefined
  }
}

/**
 * Returns the time up to which a round may read, before which no update can appear later, and the current time. Raises the floor only if a row
 * is above it, so that an idle shard gets no writes. The pages need no flush before the tail works on them, because a repair for a commit
 * that a crash undoes does no harm.
 */
async function floorFor(
  { context, signal }: Pass,
  shard: number,
): Promise<{ readonly until: number; readonly now: number }> {
  const { entities } = shardAt(context, shard)
  const { floor, now } = await entities.floor({ signal })
  const above = await entities.pageByUpdated({ since: floor }, 1, { signal, maxBody: 0 })
  return { until: above.length === 0 ? floor : await entities.raiseFloor({ signal }), now }
}

/** Yields pages of the updates between two times, newest first, each with the range that remains after it. */
async function* updatesBetween(
  pass: Pass,
  shard: number,
  { since, before }: { readonly since: number; readonly before: UpdatedPlace },
): AsyncGenerator<{ rows: readonly EntityPageRow[]; rest: TailWindow['gap'] }, void, undefined> {
  const { entities } = shardAt(pass.context, shard)
  let place = before
  for (;;) {
    throwIfAborted(pass.signal)
    const limit = pass.entityRows()
    const rows = await entities.pageByUpdated({ since, before: place }, limit, {
      signal: pass.signal,
      maxBody: longestBody(limit),
    })
    const last = rows.at(-1)
    if (last === undefined) return
    place = { updated: last.updated, addedId: last.addedId }
    const isLast = rows.length < limit
    yield { rows, rest: isLast ? undefined : { since, before: place } }
    if (isLast) return
  }
}

/** Parses the JSON of a window. Returns undefined for any other text. */
export function windowFromText(text: string): TailWindow | undefined {
  const value = parseObject(text) ?? {}
  const seenUntil = countIn(value, 'seenUntil')
  if (seenUntil === 0) return undefined
  const window = { seenUntil, lookedAt: countIn(value, 'lookedAt'), gap: undefined }
  const { since, before } = toObject(value['gap']) ?? {}
  const place = toObject(before)
  if (typeof since !== 'number' || place === undefined) return window
  return { ...window, gap: { since, before: countsIn(place, ['updated', 'addedId']) } }
}
