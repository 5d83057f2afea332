import { idsByShard, movedEntities } from '../look/read-entities.ts'
import { shardAt } from '../pass/index-target.ts'
import type { Pass } from '../pass/pass.ts'

/**
 * Those of these entities that are not at the version any more that was read. Of the others that version stays, whatever
 * becomes of their servers, until a later one replaces it. A database may show a commit before it is on disk; but one that
 * was there before a flush and is there after it survives a crash, also where the server has died and come back between the
 * reading and the flush.
 */
export async function movedOrUndone<Item extends { readonly id: Uint8Array; readonly version: number }>(
  pass: Pass,
  entities: readonly Item[],
): Promise<Item[]> {
  const ids = entities.map(({ id }) => id)
  const shards = [...idsByShard(pass, ids).keys()].map((shard) => shardAt(pass.context, shard))
  await Promise.all(shards.map((shard) => shard.flush({ signal: pass.signal })))
  return movedEntities(pass, entities)
}
