import {
  isLooseleafError,
  isVersion,
  throwIfAborted,
  type EntityPageRow,
  type PurgeBounds,
  type UpdatedPlace,
} from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine'
import { placeAt, shardAt } from '@looseleaf/protocol'
import { purgeHorizon } from './purge-horizon.ts'
import { recordFromText, recordToText, type PassedTombstones } from './purge-record.ts'

export interface PurgeOptions {
  /** A name of this process that no other has. */
  readonly owner: string
  /** How long the shard stays with a process that shows no sign of life, in milliseconds. */
  readonly leaseMs: number
  readonly signal: AbortSignal | undefined
}

export interface PurgeOutcome {
  /** Tombstones that were deleted. */
  readonly purged: number
  /** Whether more may be due. */
  readonly more: boolean
}

export const PURGE_TASK = 'purge'

const PAGE = 500
const PAGES_PER_ROUND = 10
/**
 * A version is of its writer's clock, which may be ahead of the database's. A tombstone that is ahead by less comes late enough to be
 * purged with those of its time, and others are come back to.
 */
const AHEAD_MICROS = 60_000_000

const NOTHING: PurgeOutcome = { purged: 0, more: false }

/**
 * Deletes tombstones of a shard that are older than the horizon, in the order of their times: each row of the shard is read once, when its last
 * write is that old. Bounded work. Does nothing while another process is at it, or where the catalog has changed.
 *
 * An id without a row counts as one with a tombstone just below the bound of versions: an insert needs a greater one. So to
 * delete a tombstone is to raise its version, as a fence does, and the three laws hold on. The bounds are raised first, for whoever
 * follows changes to see, and the delete goes by the bounds that are stored.
 */
export async function purgeTombstones(
  context: EngineContext,
  shard: number,
  { owner, leaseMs, signal }: PurgeOptions,
): Promise<PurgeOutcome> {
  const { tasks } = shardAt(context, shard)
  const claimed = await tasks.claim(PURGE_TASK, owner, leaseMs, { signal })
  if (claimed === undefined) return NOTHING
  const round = createRound(context, shard, signal)
  let text = claimed.progress
  try {
    const horizon = await purgeHorizon(context, shard, { signal })
    const until = horizon - AHEAD_MICROS
    const { place: begun, passed: before } = recordFromText(text)
    const isDue = before !== undefined && before.version < horizon
    let place = isDue ? before.from : begun
    // Later ones do not put the return off, or a stream of deletions by a clock that stays ahead would do so for ever.
    const waiting = isDue ? undefined : before
    let passed: PassedTombstones | undefined
    let purged = 0
    let more = place.updated < until
    for (let pages = 0; more && pages < PAGES_PER_ROUND; pages++) {
      const found = await round(place, horizon, until)
      purged += found.purged
      place = found.place
      passed = together(passed, found.passed)
      more = found.more
      text = recordToText({ place, passed: waiting ?? passed })
    }
    return { purged, more }
  } catch (error) {
    if (!isLooseleafError(error, 'STALE_EPOCH')) throw error
    // By other policies, perhaps.
    await context.catalog.reload({ signal })
    return NOTHING
  } finally {
    // After a failure the next round reads these rows once more.
    await tasks.save(PURGE_TASK, owner, text, 0).catch(() => undefined)
  }
}

type Round = (
  place: UpdatedPlace,
  horizon: number,
  until: number,
) => Promise<PurgeOutcome & { readonly place: UpdatedPlace; readonly passed: PassedTombstones | undefined }>

function createRound(context: EngineContext, shard: number, signal: AbortSignal | undefined): Round {
  const { entities } = shardAt(context, shard)
  const epoch = context.catalog.current().epochs[shard] ?? 0
  return async (place, horizon, until) => {
    throwIfAborted(signal)
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

function together(
  one: PassedTombstones | undefined,
  other: PassedTombstones | undefined,
): PassedTombstones | undefined {
  if (one === undefined || other === undefined) return one ?? other
  return {
    from: one.from.updated <= other.from.updated ? one.from : other.from,
    version: Math.max(one.version, other.version),
  }
}
