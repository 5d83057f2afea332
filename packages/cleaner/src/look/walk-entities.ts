import type { EntityPageRow } from '@looseleaf/core/internal'
import type { WholeRow } from '@looseleaf/index-engine/internal'
import { shardAt, walkUnread, watchOwned } from '@looseleaf/protocol/internal'
import type { Pass } from '../pass/pass.ts'
import { entityPages, type EntityPagesOptions } from './entity-pages.ts'

type Pages = AsyncGenerator<readonly WholeRow<EntityPageRow>[], void, undefined>

/** Yields the entities that a shard has at the beginning, and takes the buckets that it has owned all the time out of `unread`. */
export async function* entitiesOfShard(pass: Pass, shard: number, unread: Set<number>): Pages {
  const watch = await watchOwned(pass.context, shard, pass)
  yield* presentEntities(pass, shard, { watch })
  await watch.owned([])
  for (const bucket of watch.kept) unread.delete(bucket)
}

/**
 * Yields the entities of buckets that no shard has owned while it was read: they may have left a shard before, and come to another one after it
 * was read. Rejects as `walkUnread` does.
 */
export async function* unreadEntities(pass: Pass, unread: Set<number>): Pages {
  const read = (shard: number, after: number): Pages => presentEntities(pass, shard, { after })
  for await (const [rows] of walkUnread(pass.context, unread, read, pass)) yield rows
}

async function* presentEntities(
  pass: Pass,
  shard: number,
  options: Pick<EntityPagesOptions, 'after' | 'watch'>,
): Pages {
  const upTo = await shardAt(pass.context, shard).entities.lastAddedId({ signal: pass.signal })
  yield* entityPages(pass, shard, { ...options, upTo })
}
