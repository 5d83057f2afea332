import type { EngineContext } from '@looseleaf/index-engine'
import { chunks } from './chunks.ts'
import { idKey } from './id-key.ts'
import { shardAt } from './index-target.ts'
import type { Pass } from './pass.ts'
import { idsByShard, movedEntities } from './read-entities.ts'

/** Ids per statement. */
const IDS_PER_READ = 256

/** Something to be done on the ground of a version of an entity that was read. */
interface Grounded {
  readonly version: number
  readonly row: { readonly entityId: Uint8Array }
}

/**
 * Those whose entity is still at the version that was read, and stays there whatever becomes of its server. A database may
 * show a commit before it is on disk; but one that was there before a flush and is there after it survives a crash, also
 * where the server has died and come back between the reading and the flush.
 */
export async function thoseOnDisk<Item extends Grounded>(
  context: EngineContext,
  items: readonly Item[],
  signal: AbortSignal | undefined,
): Promise<readonly Item[]> {
  const versions = new Map<string, number | undefined>()
  await Promise.all(
    Array.from(
      Map.groupBy(items, ({ row }) => context.router.shardOfId(row.entityId)),
      async ([number, ofShard]) => {
        const shard = shardAt(context, number)
        await shard.flush({ signal })
        const ids = [...new Map(ofShard.map(({ row }) => [idKey(row.entityId), row.entityId])).values()]
        for (const chunk of chunks(ids, IDS_PER_READ)) {
          const found = await shard.entities.readVersions(chunk, { signal })
          for (const [i, id] of chunk.entries()) versions.set(idKey(id), found[i])
        }
      },
    ),
  )
  return items.filter(({ version, row }) => versions.get(idKey(row.entityId)) === version)
}

/** Those of these entities that are at another version by then; of the others, what was read stays as it does there. */
export async function movedOrUndone<Item extends { readonly id: Uint8Array; readonly version: number }>(
  pass: Pass,
  entities: readonly Item[],
): Promise<Item[]> {
  const ids = entities.map(({ id }) => id)
  const shards = [...idsByShard(pass, ids).keys()].map((shard) => shardAt(pass.context, shard))
  await Promise.all(shards.map((shard) => shard.flush({ signal: pass.signal })))
  return movedEntities(pass, entities)
}
