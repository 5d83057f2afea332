import { isLooseleafError, type LooseleafError } from '@looseleaf/core'
import { backOffMs, throwIfAborted, type EntityPageRow, type UpdatedPlace } from '@looseleaf/core/internal'
import { longestBody, wholeRows, type EngineContext, type WholeRow } from '@looseleaf/index-engine/internal'
import { placeAt, placeOf, readableFloor } from '../floor.ts'
import { isEmptyForGood, lastingPage } from '../lasting-page.ts'
import { createMovedRows } from './moved-rows.ts'
import { placeOnRemoved } from './removed-place.ts'
import { streamsProgress } from './streams-progress.ts'
import { requireUnpurged, type FollowedPlace } from '../purged.ts'
import { isOfRemovedShard, shardAt } from '../shards.ts'

export interface FollowOptions {
  /** Milliseconds between two reads without new rows; also the largest age of the floor. */
  readonly pollMs: number
  readonly signal: AbortSignal
  /** Called with an error before the read is retried. */
  readonly onRetry: (error: LooseleafError) => void
  /** Ends the iteration by throwing. Called before each read. */
  readonly checkOpen: () => void
  /** Returns the place that the follower has reached on another shard, undefined for one that it does not follow yet. */
  readonly placeOn: (shard: number) => FollowedPlace | undefined
}

/** Consecutive changed rows, and the place after them. Without rows, only the place has moved. */
export interface ChangedRun {
  readonly rows: readonly WholeRow<EntityPageRow>[]
  readonly place: FollowedPlace
}

const PAGE = 500
/** Longest pause after failures, and so the delay of changes once a shard is back. */
const MAX_PAUSE_MS = 2_000

/**
 * Yields the rows of a shard that are changed after this place, in the order of `updated`, until the shard is removed. They come in runs of some
 * MiB; the next run is read when the last one was taken. Yielded rows are durable. Throws `CHANGES_GONE` rather than skip a deletion whose
 * tombstone was purged, or an entity that has left the shard. Rows of moved entities are left out or held back as `createMovedRows` says.
 */
export async function* followChanges(
  context: EngineContext,
  shardNumber: number,
  from: FollowedPlace,
  { pollMs, signal, onRetry, checkOpen, placeOn }: FollowOptions,
): AsyncGenerator<ChangedRun, void, undefined> {
  const shard = shardAt(context, shardNumber)
  const { entities } = shard
  let { since } = from
  let place: UpdatedPlace = from
  const moved = createMovedRows(context, shardNumber, streamsProgress(context, placeOn, signal), signal)
  let toldSince = since
  for (let failures = 0; ;) {
    checkOpen()
    try {
      const end = placeOnRemoved(context, shardNumber, { ...place, since })
      if (end !== undefined) {
        yield { rows: [], place: end }
        return
      }
      const { floor: until, purged, epoch } = await readableFloor(shard, place, pollMs, signal)
      // A new follower begins at the floor of its first successful read.
      if (since === 0 && place.updated === 0) since = until
      requireUnpurged(shard, { purged }, { ...place, since })
      // A failover lost commits, and later writes reuse times that were read, so the follower goes back to the floor.
      if (until < place.updated) place = placeAt(until)
      since = Math.min(since, until)
      await moved.learn(epoch)
      moved.requireKept({ ...place, since })
      // The streams of other shards ask when this one began, also if it has no rows.
      if (moved.isSource && since !== toldSince) {
        toldSince = since
        yield { rows: [], place: { ...place, since } }
      }
      const page = await lastingPage(shard, { after: place, until }, PAGE, {
        signal,
        maxBody: longestBody(PAGE),
      })
      const last = page.at(-1)
      // A purge before the page was read shows in the present bounds. An empty page does not move the place.
      if (last !== undefined) {
        const state = await entities.floor({ signal })
        requireUnpurged(shard, state, { ...place, since })
        await moved.learn(state.epoch)
        moved.requireKept({ ...place, since })
      }
      // On a quiet shard the place moves only if it has to be past the changes of departed buckets before these are deleted.
      if (
        last === undefined &&
        moved.isBehind(place) &&
        (await isEmptyForGood(shard, { after: place, until }, { signal }))
      ) {
        await moved.learn((await entities.floor({ signal })).epoch)
        moved.requireKept({ ...place, since })
        place = placeAt(until)
        yield { rows: [], place: { ...place, since } }
      }
      // After the last row the place is at the floor: no later change comes before it.
      const pageEnd = page.length < PAGE ? placeAt(until) : last
      const versions = new Map(page.map(({ addedId, version }) => [addedId, version]))
      let taken = 0
      let isHeld = false
      for await (const run of wholeRows(shard, context, page, { signal })) {
        const replaced = run.findIndex(({ addedId, version }) => version !== versions.get(addedId))
        const unchanged = replaced === -1 ? run : run.slice(0, replaced)
        const given: WholeRow<EntityPageRow>[] = []
        let passed = 0
        for (const row of unchanged) {
          const turn = await moved.turnOf(row)
          isHeld = turn === 'hold'
          if (isHeld) break
          passed++
          if (turn === 'give') given.push(row)
        }
        taken += passed
        const lastTaken = unchanged[passed - 1]
        if (lastTaken !== undefined) {
          const nextPlace = placeOf(taken === page.length ? (pageEnd as UpdatedPlace) : lastTaken)
          yield { rows: given, place: { ...nextPlace, since } }
          place = nextPlace
        }
        // A crash may undo the replacement of this entity, so the next page begins before it.
        if (replaced !== -1 || isHeld) break
      }
      failures = 0
      if (!isHeld && (page.length === PAGE || taken < page.length)) continue
    } catch (error) {
      throwIfAborted(signal)
      // A process that has noticed the removal of the shard leaves it at once.
      if (isOfRemovedShard(context, error)) continue
      if (!isLooseleafError(error) || !error.retryable) throw error
      onRetry(error)
      failures++
    }
    const pause = failures === 0 ? pollMs : backOffMs(failures, { firstMs: 2 * pollMs, maxMs: MAX_PAUSE_MS })
    await context.time.sleep(pause, signal)
  }
}
