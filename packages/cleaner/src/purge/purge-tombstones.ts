import { isLooseleafError } from '@looseleaf/core'
import { isVersion, type EntityPageRow, type PurgeBounds, type UpdatedPlace } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { loadOwn, placeAt, shardAt, underLease } from '@looseleaf/protocol/internal'
import { purgeHorizon } from './purge-horizon.ts'
import { recordFromText, recordToText, type PassedTombstones } from './purge-record.ts'

export interface PurgeOptions {
  readonly owner: string
  /** Milliseconds until another process may purge the shard after this one died. */
  readonly leaseMs: number
  readonly signal: AbortSignal | undefined
}

export interface PurgeOutcome {
  readonly purged: number
  /** True if more tombstones may be due. */
  readonly more: boolean
}

export const PURGE_TASK = 'purge'

const PAGE = 500
const PAGES_PER_ROUND = 10
/**
 * Margin for versions, which come from writers' clocks, ahead of the clock of the database. A tombstone whose version is ahead by less is
 * purged together with others of its time. If its version is ahead by more, it is passed over, and the purge returns to it.
 */
const AHEAD_MICROS = 60_000_000

const NOTHING: PurgeOutcome = { purged: 0, more: false }

/**
 * Deletes tombstones of a shard that are older than the horizon, in the order of their times. Each row of the shard is read once, when its last
 * write has that age. Reads a bounded number of pages. Does nothing while another process purges the shard, if
 * the catalog has changed, or while buckets of the shard are being copied to or from another one: a tombstone that is purged at the source
 * behind the copy of an earlier state would let that state begin to live on the target.
 *
 * An id without a row counts as one with a tombstone just below the bound of versions, because an insert needs a greater version. So deleting a
 * tombstone amounts to raising its version, as a fence does, and the three laws still hold. The bounds are raised before the delete, so that
 * consumers notice, and the delete uses the stored bounds.
 */
export async function purgeTombstones(
  context: EngineContext,
  shard: number,
  { owner, leaseMs, signal }: PurgeOptions,
): Promise<PurgeOutcome> {
  const { tasks } = shardAt(context, shard)
  const claimed = await tasks.claim(PURGE_TASK, owner, leaseMs, { signal })
  if (claimed === undefined) return NOTHING
  let text = claimed.progress
  const purge = async (): Promise<PurgeOutcome> => {
    const { catalog, serves } = await loadOwn(context, shard, { signal })
    // A mover copies the tombstones of a moved bucket, and compares them with their copies.
    if (serves.leaving !== undefined || serves.coming !== undefined) return NOTHING
    if (catalog.epoch !== context.catalog.current().epochs[shard]) {
      await context.catalog.reload({ signal })
      return NOTHING
    }
    const purgePage = createPurge(context, shard, signal)
    const horizon = await purgeHorizon(context, shard, { signal })
    const until = horizon - AHEAD_MICROS
    const { place: savedPlace, passed: savedPassed } = recordFromText(text)
    const isDue = savedPassed !== undefined && savedPassed.version < horizon
    let place = isDue ? savedPassed.from : savedPlace
    // Tombstones passed over later do not postpone the return. Otherwise a clock that stays ahead would postpone it for ever.
    const waiting = isDue ? undefined : savedPassed
    let passed: PassedTombstones | undefined
    let purged = 0
    let more = place.updated < until
    for (let pages = 0; more && pages < PAGES_PER_ROUND; pages++) {
      const page = await purgePage(place, horizon, until)
      purged += page.purged
      place = page.place
      passed = combinePassed(passed, page.passed)
      more = page.more
      text = recordToText({ place, passed: waiting ?? passed })
    }
    return { purged, more }
  }
  try {
    // If the place is not saved, the next round only reads these rows again.
    return await underLease({ tasks, task: PURGE_TASK, owner }, purge, () => text)
  } catch (error) {
    if (!isLooseleafError(error, 'STALE_EPOCH')) throw error
    // The policies may have changed.
    await context.catalog.reload({ signal })
    return NOTHING
  }
}

type PurgePage = (
  place: UpdatedPlace,
  horizon: number,
  until: number,
) => Promise<PurgeOutcome & { readonly place: UpdatedPlace; readonly passed: PassedTombstones | undefined }>

function createPurge(context: EngineContext, shard: number, signal: AbortSignal | undefined): PurgePage {
  const { entities } = shardAt(context, shard)
  const epoch = context.catalog.current().epochs[shard] ?? 0
  return async (place, horizon, until) => {
    const page = await entities.pageOfChanges({ after: place, until }, PAGE, { signal, maxBody: 0 })
    const tombstones = page.filter(({ body, version }) => body === null && isVersion(version))
    const due = tombstones.filter(({ version }) => version < horizon)
    const ahead = tombstones.filter(({ version }) => version >= horizon)
    let purged = 0
    if (due.length > 0) {
      await entities.raisePurged(boundsOf(due), { epoch, signal })
      purged = await entities.purge(
        due.map(({ id }) => id),
        { signal },
      )
    }
    const last = page.at(-1)
    const more = page.length === PAGE
    return {
      purged,
      more,
      place: more && last !== undefined ? { updated: last.updated, addedId: last.addedId } : placeAt(until),
      passed: ahead.length === 0 ? undefined : { from: place, version: greatestOf(ahead) },
    }
  }
}

function boundsOf(rows: readonly EntityPageRow[]): PurgeBounds {
  return {
    updated: Math.max(...rows.map(({ updated }) => updated)) + 1,
    version: greatestOf(rows) + 1,
  }
}

function greatestOf(rows: readonly EntityPageRow[]): number {
  return Math.max(...rows.map(({ version }) => version))
}

/** Combines the tombstones that were passed over on a page with those of a later one. */
function combinePassed(
  a: PassedTombstones | undefined,
  b: PassedTombstones | undefined,
): PassedTombstones | undefined {
  if (a === undefined || b === undefined) return a ?? b
  return { from: a.from, version: Math.max(a.version, b.version) }
}
