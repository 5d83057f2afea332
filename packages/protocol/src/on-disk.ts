import type { CallOptions, Shard } from '@looseleaf/core'
import { idKey } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { idsByShard } from './shards.ts'

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
  /** Default: a statement of its own. */
  readonly readVersions?: ReadVersions | undefined
}

const readSeparately: ReadVersions = ({ entities }, ids, options) => entities.readVersions(ids, options)

/** Returns the entities that no longer have the version that was read. */
export async function movedEntities<Item extends SeenEntity>(
  context: EngineContext,
  entities: readonly Item[],
  { signal, readVersions = readSeparately }: VersionsOptions,
): Promise<Item[]> {
  const seen = new Map(entities.map((entity) => [idKey(entity.id), entity]))
  const moved: Item[] = []
  await Promise.all(
    Array.from(idsByShard(context, idsOf(entities)), async ([shard, ids]) => {
      const now = await readVersions(shard, ids, { signal })
      for (const [i, id] of ids.entries()) {
        const entity = seen.get(idKey(id)) as Item
        if (entity.version !== (now[i] ?? 0)) moved.push(entity)
      }
    }),
  )
  return moved
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
  const shards = idsByShard(context, idsOf(entities)).keys()
  await Promise.all(Array.from(shards, (shard) => shard.flush({ signal: options.signal })))
  return movedEntities(context, entities, options)
}

function idsOf(entities: readonly SeenEntity[]): Uint8Array[] {
  return entities.map(({ id }) => id)
}
