import type { CallOptions, Shard } from '@looseleaf/core'
import { idKey } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { readAtOwners } from './owners/read-at-owners.ts'

/** An entity at the version that was read. */
export interface SeenEntity {
  /** 16 bytes. */
  readonly id: Uint8Array
  /** 0 if there is neither an entity nor a tombstone. */
  readonly version: number
}

/** Reads the versions of entities of one shard, in the order of the ids. Calls may share statements. */
type ReadVersions = (
  shard: Shard,
  ids: readonly Uint8Array[],
  options: CallOptions,
) => Promise<readonly (number | undefined)[]>

export interface VersionsOptions extends CallOptions {
  /** Has to ask the owners of the entities. Default: statements of its own, which do so. */
  readonly readVersions?: ReadVersions | undefined
}

/** Returns the entities that no longer have the version that was read. */
export async function movedEntities<Item extends SeenEntity>(
  context: EngineContext,
  entities: readonly Item[],
  options: VersionsOptions,
): Promise<Item[]> {
  return moved(context, entities, options, () => Promise.resolve())
}

/**
 * Returns the entities that no longer have the version that was read. The versions of all others are durable: only a later version
 * replaces them, whatever happens to their servers.
 *
 * Call it before an action that rests on a read and cannot be undone: an acknowledgement, a delete, a claim that goes to another entity, an
 * index that becomes ready. A database may show a commit before it is on disk:
 * 1. A caller reads version v, which is not on disk.
 * 2. The server crashes, loses v, and restarts.
 * 3. The caller acts on v, which no longer exists.
 *
 * So this flushes first, then reads again. A version that is there before and after a flush is durable, even if the server
 * restarted between the first read and the flush.
 */
export async function movedOrUndone<Item extends SeenEntity>(
  context: EngineContext,
  entities: readonly Item[],
  options: VersionsOptions,
): Promise<Item[]> {
  return moved(context, entities, options, (shard) => shard.flush({ signal: options.signal }))
}

async function moved<Item extends SeenEntity>(
  context: EngineContext,
  entities: readonly Item[],
  { signal, readVersions }: VersionsOptions,
  prepare: (shard: Shard) => Promise<void>,
): Promise<Item[]> {
  const seen = new Map(entities.map((entity) => [idKey(entity.id), entity]))
  const found: Item[] = []
  await readAtOwners(
    context,
    entities.map(({ id }) => id),
    async ({ shard, ids, areOwned }) => {
      await prepare(shard)
      const versions =
        readVersions === undefined
          ? await shard.entities.readVersions(ids, { signal })
          : await readVersions(shard, ids, { signal })
      if (readVersions === undefined && !(await areOwned())) return ids
      for (const [i, id] of ids.entries()) {
        const entity = seen.get(idKey(id)) as Item
        if (entity.version !== (versions[i] ?? 0)) found.push(entity)
      }
      return []
    },
    { signal },
  )
  return found
}
