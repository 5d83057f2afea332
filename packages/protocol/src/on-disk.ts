import { idKey, type CallOptions, type Shard } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine'
import { idsByShard } from './shards.ts'

/** An entity as it was read. */
export interface SeenEntity {
  /** 16 bytes. */
  readonly id: Uint8Array
  /** 0 where there is none, not even a tombstone. */
  readonly version: number
}

/** Reads versions of entities of one shard, in the order of their ids; calls may share statements. */
type ReadVersions = (
  shard: Shard,
  ids: readonly Uint8Array[],
  options: CallOptions,
) => Promise<readonly (number | undefined)[]>

export interface VersionsOptions extends CallOptions {
  /** By default a statement of its own. */
  readonly readVersions?: ReadVersions | undefined
}

const alone: ReadVersions = ({ entities }, ids, options) => entities.readVersions(ids, options)

/** Those of these entities whose committed version is no longer this one. */
export async function movedEntities<Item extends SeenEntity>(
  context: EngineContext,
  entities: readonly Item[],
  { signal, readVersions = alone }: VersionsOptions,
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
 * Comes before whatever cannot be taken back and rests on what was read: an acknowledgement, a delete, a claim that goes to
 * another entity, an index that becomes ready. Answers those of these entities that are not at the version any more
 * that was read. Of the others that version stays, whatever becomes of their servers, until a later one replaces it.
 *
 * A database may show a commit before it is on disk; but one that was there before a flush and is there after it survives
 * a crash, also where the server has died and come back between the reading and the flush.
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
