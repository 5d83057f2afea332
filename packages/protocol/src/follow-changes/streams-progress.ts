import type { AwayBuckets } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { loadOwn } from '../moves/own-buckets.ts'
import type { FollowedPlace } from '../purged.ts'
import { shardAt } from '../shards.ts'
import type { FollowerProgress } from './moved-rows.ts'
import { placeOnRemoved } from './removed-place.ts'

/**
 * Makes the progress of a follower with a stream for each shard in this process. `placeOn` returns the place that it has reached on a shard;
 * undefined for one that it does not follow yet.
 */
export function streamsProgress(
  context: EngineContext,
  placeOn: (shard: number) => FollowedPlace | undefined,
  signal: AbortSignal,
): FollowerProgress {
  return {
    sinceOn(shard) {
      const since = placeOn(shard)?.since
      return since === 0 ? undefined : since
    },
    async hasHandled(shard, _, away) {
      const place = placeOn(shard) ?? placeOnRemoved(context, shard, undefined)
      if (place === undefined) return false
      // A follower that began after the shard was told to delete its rows takes the copies. If it waited for its place there, the streams of two
      // shards that have exchanged buckets would wait for each other.
      const isUnread = ({ end, emptied = Infinity }: AwayBuckets): boolean =>
        place.updated < end && place.since < emptied
      const unread = away.filter(isUnread)
      if (unread.length === 0) return true
      if (unread.some(({ emptied }) => emptied !== undefined)) return false
      // A quiet shard does not move the place. Its moved rows were durable before their buckets left, so an empty page proves that none is left,
      // unless they are being deleted.
      const until = Math.max(...unread.map(({ end }) => end))
      const { entities } = shardAt(context, shard)
      const [row] = await entities.pageOfChanges({ after: place, until }, 1, { signal, maxBody: 0 })
      if (row !== undefined) return false
      const { serves } = await loadOwn(context, shard, { signal })
      return serves.away?.some((record) => record.emptied !== undefined && isUnread(record)) !== true
    },
  }
}
