import {
  isLooseleafError,
  throwIfAborted,
  type EntityPageRow,
  type LooseleafError,
  type UpdatedPlace,
} from '@looseleaf/core'
import { longestBody, wholeRows, type EngineContext, type WholeRow } from '@looseleaf/index-engine'
import { placeAt, readableFloor } from './floor.ts'
import { lastingPage } from './lasting-page.ts'
import { requireUnpurged, type FollowedPlace } from './purged.ts'
import { shardAt } from './shards.ts'

export interface FollowOptions {
  /** Milliseconds between two looks where nothing is new; also how old the floor may be. */
  readonly pollMs: number
  readonly signal: AbortSignal
  /** Told of an error that is tried again. */
  readonly onRetry: (error: LooseleafError) => void
  /** Throws once nothing is to be followed any more. */
  readonly checkOpen: () => void
}

/** Rows that were changed, none is missing, and the place behind them. */
export interface ChangedRun {
  readonly rows: readonly WholeRow<EntityPageRow>[]
  readonly place: FollowedPlace
}

const PAGE = 500
/** After failures: changes come so much later, once a shard is back. */
const MAX_PAUSE_MS = 2_000

/**
 * Yields the rows of a shard that are changed behind this place, in the order of `updated`, in runs of some MiB, none of which is empty;
 * without an end. No crash can undo a row that is yielded. More is read when a run was taken. Throws `CHANGES_GONE` before it would
 * leave out a deletion whose tombstone is gone.
 */
export async function* followChanges(
  context: EngineContext,
  shard: number,
  from: FollowedPlace,
  { pollMs, signal, onRetry, checkOpen }: FollowOptions,
): AsyncGenerator<ChangedRun, void, undefined> {
  const at = shardAt(context, shard)
  const { entities } = at
  let { since } = from
  let place: UpdatedPlace = from
  for (let pause = pollMs; ;) {
    checkOpen()
    try {
      const { floor: until, purged } = await readableFloor(at, place, pollMs, signal)
      // A new follower begins with its first look, whenever the shard answers it.
      if (since === 0 && place.updated === 0) since = until
      requireUnpurged(at, { purged }, { ...place, since })
      // A failover has lost what was behind it, and times that were read before are given once more.
      if (until < place.updated) place = placeAt(until)
      since = Math.min(since, until)
      const page = await lastingPage(at, { after: place, until }, PAGE, {
        signal,
        maxBody: longestBody(PAGE),
      })
      const last = page.at(-1)
      // A purge that came before the page shows in the bounds by now. A page without rows moves no place.
      if (last !== undefined) requireUnpurged(at, await entities.floor({ signal }), { ...place, since })
      // Behind the last rows, up to where was read, so that a shard that is quiet afterwards keeps no follower back.
      const end = page.length < PAGE ? placeAt(until) : last
      const versions = new Map(page.map(({ addedId, version }) => [addedId, version]))
      let taken = 0
      for await (const run of wholeRows(entities, context.codec, page, { signal })) {
        const replaced = run.findIndex(({ addedId, version }) => version !== versions.get(addedId))
        const same = replaced === -1 ? run : run.slice(0, replaced)
        taken += same.length
        const lastTaken = same.at(-1)
        if (lastTaken !== undefined) {
          const next = placeOf(taken === page.length ? (end as UpdatedPlace) : lastTaken)
          yield { rows: same, place: { ...next, since } }
          place = next
        }
        // A crash may undo the replacement of this entity, so the next page begins in front of it.
        if (replaced !== -1) break
      }
      pause = pollMs
      if (page.length === PAGE || taken < page.length) continue
    } catch (error) {
      throwIfAborted(signal)
      if (!isLooseleafError(error) || !error.retryable) throw error
      onRetry(error)
      pause = Math.min(2 * pause, MAX_PAUSE_MS)
    }
    await context.time.sleep(pause, signal)
  }
}

function placeOf({ updated, addedId }: UpdatedPlace): UpdatedPlace {
  return { updated, addedId }
}
