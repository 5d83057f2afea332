import { isLooseleafError, type LooseleafError, type Shard, platformTime } from '@looseleaf/core'
import { errorOfShard } from '../error-of-shard.ts'
import type { Session } from '../session.ts'

/** How a shard answers. */
export interface ShardLook {
  readonly name: string
  /** Milliseconds for a question that costs it nothing; undefined where it has not answered. */
  readonly answersInMs: number | undefined
  readonly error: LooseleafError | undefined
  /** Tombstones too, by the statistics of the database; undefined where it does not say. */
  readonly entities: number | undefined
  /** Its clock when it answered, in microseconds since 1970. */
  readonly now: number | undefined
  /** Undefined in a first look, and where it has not answered in this one or the one before. */
  readonly written: Written | undefined
}

/** Entities that were written between two looks; one that was written twice counts once. */
export interface Written {
  readonly perSecond: number
  /** Whether there were more, which were not counted. */
  readonly more: boolean
}

/** Rows of a shard that are counted in a look. */
const MOST_WRITTEN = 1_000

/** `before`: the look before this one. */
export async function lookAtShards(
  { store, signal }: Session,
  before: readonly ShardLook[] = [],
): Promise<readonly ShardLook[]> {
  const { driver } = (await store({ warn: false })).context
  return Promise.all(driver.shards.map((shard, i) => lookAtShard(shard, before[i]?.now, signal)))
}

async function lookAtShard(shard: Shard, since: number | undefined, signal: AbortSignal): Promise<ShardLook> {
  const { name } = shard
  const asked = platformTime.elapsed()
  const answer = await shard.now({ signal }).catch(errorOfShard)
  const answersInMs = platformTime.elapsed() - asked
  if (isLooseleafError(answer))
    return {
      name,
      answersInMs: undefined,
      error: answer,
      entities: undefined,
      now: undefined,
      written: undefined,
    }
  // It may answer, and refuse this.
  const sizes = await shard.sizes?.({ signal }).catch(errorOfShard)
  const entities = isLooseleafError(sizes) ? undefined : sizes?.entities
  const written = since === undefined ? undefined : await writtenSince(shard, since, answer, signal)
  return { name, answersInMs, error: undefined, entities, now: answer, written }
}

async function writtenSince(
  { entities }: Shard,
  since: number,
  now: number,
  signal: AbortSignal,
): Promise<Written | undefined> {
  const rows = await entities
    .pageByUpdated({ since }, MOST_WRITTEN, { signal, maxBody: 0 })
    .catch(errorOfShard)
  if (isLooseleafError(rows) || now <= since) return undefined
  const count = rows.filter(({ updated }) => updated < now).length
  return { perSecond: count / ((now - since) / 1e6), more: rows.length === MOST_WRITTEN }
}

/** What a shard has failed with; throws what is nobody's fault but the program's, and the end of the command. */
