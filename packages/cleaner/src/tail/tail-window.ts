import { countIn, type EntityPageRow, parseObject, throwIfAborted, type UpdatedPlace } from '@looseleaf/core'
import { longestBody } from '@looseleaf/index-engine'
import { shardAt } from '@looseleaf/protocol'
import type { Pass } from '../pass/pass.ts'

/** What the tail of a shard has looked at so far, in microseconds by the shard's clock. */
export interface TailWindow {
  /** Everything that was updated before this has been read, except for the gap. Never above a floor of the shard. */
  seenUntil: number
  /** When the last round was done; 0 before the first. */
  lookedAt: number
  /** Older updates that a round had no time for. */
  gap: { since: number; before: UpdatedPlace } | undefined
}

export interface WindowOptions {
  /** Rows read in one round at the most. */
  readonly rowsPerRound: number
  /** What is older than this is left to the sweep, in milliseconds. */
  readonly maxLagMs: number
}

/**
 * Reads what was updated since the last round, newest first, in pages without long bodies; then what is left of the gap. Whatever a round
 * has no time for becomes the gap. The window moves on only with pages that were taken in whole.
 */
export async function* updatedPages(
  pass: Pass,
  shard: number,
  window: TailWindow,
  { rowsPerRound, maxLagMs }: WindowOptions,
): AsyncGenerator<readonly EntityPageRow[], void, undefined> {
  const { until, now } = await floorFor(pass, shard)
  // A failover has lost commits and the floor: times that were read before are given once more.
  window.seenUntil = Math.min(window.seenUntil, until)
  const oldest = now - maxLagMs * 1000
  const since = Math.max(oldest, window.seenUntil)
  const moveOn = (): void => {
    window.seenUntil = until
    window.lookedAt = now
  }
  let left = rowsPerRound
  const old = window.gap
  if (since < until) {
    const before = { updated: until, addedId: 0 }
    for await (const { rows, rest } of updatesBetween(pass, shard, { since, before })) {
      yield rows
      left -= rows.length
      if (rest !== undefined && left <= 0) {
        window.gap = { since: Math.min(rest.since, old?.since ?? Infinity), before: rest.before }
        moveOn()
        return
      }
    }
  }
  moveOn()
  if (window.gap === undefined) return
  if (window.gap.before.updated < oldest) window.gap = undefined
  else {
    for await (const { rows, rest } of updatesBetween(pass, shard, {
      ...window.gap,
      since: Math.max(oldest, window.gap.since),
    })) {
      yield rows
      left -= rows.length
      window.gap = rest
      if (left <= 0) return
    }
    window.gap = undefined
  }
}

/**
 * Up to where a round may read, so that nothing comes before it later, and the time. The floor is raised only where something stands above
 * it: a shard that nobody writes is left alone. No flush follows the pages before they are worked on: a repair for a commit that a crash undoes
 * does no harm.
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

/** Pages of the updates in a window of time, newest first, each with what is left after it. */
async function* updatesBetween(
  pass: Pass,
  shard: number,
  { since, before }: { readonly since: number; readonly before: UpdatedPlace },
): AsyncGenerator<{ rows: readonly EntityPageRow[]; rest: TailWindow['gap'] }, void, undefined> {
  const { entities } = shardAt(pass.context, shard)
  let place = before
  for (;;) {
    throwIfAborted(pass.signal)
    const rows = await entities.pageByUpdated({ since, before: place }, pass.maxPage, {
      signal: pass.signal,
      maxBody: longestBody(pass.maxPage),
    })
    const last = rows.at(-1)
    if (last === undefined) return
    place = { updated: last.updated, addedId: last.addedId }
    const isLast = rows.length < pass.maxPage
    yield { rows, rest: isLast ? undefined : { since, before: place } }
    if (isLast) return
  }
}

/** The window of a text, which is its JSON; undefined for any other. */
export function windowFromText(text: string): TailWindow | undefined {
  const value = parseObject(text)
  const seenUntil = value === undefined ? 0 : countIn(value, 'seenUntil')
  if (value === undefined || seenUntil === 0) return undefined
  const window = { seenUntil, lookedAt: countIn(value, 'lookedAt'), gap: undefined }
  const gap = value['gap']
  if (typeof gap !== 'object' || gap === null) return window
  const { since, before } = gap as { since?: unknown; before?: Record<string, unknown> }
  if (typeof since !== 'number' || typeof before !== 'object') return window
  const place = { updated: countIn(before, 'updated'), addedId: countIn(before, 'addedId') }
  return { ...window, gap: { since, before: place } }
}
