import { countIn, type EntityPageRow, parseObject, throwIfAborted } from '@looseleaf/core'
import { longestBody } from '@looseleaf/index-engine'
import { shardAt } from '@looseleaf/protocol'
import type { Pass } from '../pass/pass.ts'

/** A place in the order of the last change. */
interface UpdatedPlace {
  readonly updated: number
  readonly addedId: number
}

/** What the tail of a shard has looked at so far, in microseconds by the shard's clock. */
export interface TailWindow {
  /** Everything that was committed and updated before this has been read, except for the gap. */
  seenUntil: number
  /** When the last round looked back over the overlap. */
  lookedBackAt: number
  /** Older updates that a round had no time for. */
  gap: { since: number; before: UpdatedPlace } | undefined
}

export interface WindowOptions {
  /**
   * How long a row may be invisible after the time that it carries, because its transaction was not committed yet, in
   * milliseconds. As often as this, a round goes back as far behind the last one that did.
   */
  readonly overlapMs: number
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
  options: WindowOptions,
): AsyncGenerator<readonly EntityPageRow[], void, undefined> {
  const now = await shardAt(pass.context, shard).now({ signal: pass.signal })
  const oldest = now - options.maxLagMs * 1000
  const overlap = options.overlapMs * 1000
  const looksBack = now - window.lookedBackAt >= overlap
  const since = looksBack ? Math.min(window.seenUntil, window.lookedBackAt - overlap) : window.seenUntil
  const moveOn = (): void => {
    window.seenUntil = now
    if (looksBack) window.lookedBackAt = now
  }
  let left = options.rowsPerRound
  const fresh = updatesBetween(pass, shard, { since: Math.max(oldest, since), before: undefined })
  const old = window.gap
  for await (const { rows, rest } of fresh) {
    yield rows
    left -= rows.length
    if (rest !== undefined && left <= 0) {
      window.gap = { since: Math.min(rest.since, old?.since ?? Infinity), before: rest.before }
      moveOn()
      return
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

/** Pages of the updates in a window of time, newest first, each with what is left after it. */
async function* updatesBetween(
  pass: Pass,
  shard: number,
  { since, before }: { readonly since: number; readonly before: UpdatedPlace | undefined },
): AsyncGenerator<{ rows: readonly EntityPageRow[]; rest: TailWindow['gap'] }, void, undefined> {
  const { entities } = shardAt(pass.context, shard)
  let place = before
  for (;;) {
    throwIfAborted(pass.signal)
    const rows = await entities.pageByUpdated(
      { since, ...(place === undefined ? {} : { before: place }) },
      pass.maxPage,
      { signal: pass.signal, maxBody: longestBody(pass.maxPage) },
    )
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
  const lookedBackAt = countIn(value, 'lookedBackAt')
  const gap = value['gap']
  if (typeof gap !== 'object' || gap === null) return { seenUntil, lookedBackAt, gap: undefined }
  const { since, before } = gap as { since?: unknown; before?: Record<string, unknown> }
  if (typeof since !== 'number' || typeof before !== 'object')
    return { seenUntil, lookedBackAt, gap: undefined }
  return {
    seenUntil,
    lookedBackAt,
    gap: { since, before: { updated: countIn(before, 'updated'), addedId: countIn(before, 'addedId') } },
  }
}
