import { isLooseleafError, type LooseleafError, type Shard } from '@looseleaf/core'
import { platformTime } from '@looseleaf/core/internal'
import { presentShards } from '@looseleaf/index-engine/internal'
import { errorOfShard } from '../running/error-of-shard.ts'
import type { Invocation } from '../running/invocation.ts'

export interface ShardLook {
  readonly name: string
  /** Round trip of a trivial statement, in milliseconds; undefined if the shard did not answer. */
  readonly answersInMs?: number
  readonly error?: LooseleafError
  /** Estimate from the statistics of the database, including tombstones; undefined if the database has none. */
  readonly entities?: number | undefined
  /** Clock of the shard at its answer, in microseconds since 1970. */
  readonly now?: number
  /** Undefined in a first look, or if the shard did not answer in this look or the previous one. */
  readonly written?: Written | undefined
}

/** Entities written between two looks. An entity that was written twice counts once. */
export interface Written {
  readonly perSecond: number
  /** True if there were more rows than a look counts. */
  readonly more: boolean
}

/** Largest number of written rows that a look counts per shard. */
const MAX_WRITTEN = 1_000

/** Looks at all shards at once. `before` is the previous look. */
export async function lookAtShards(
  { openStore, signal }: Invocation,
  before: readonly ShardLook[] = [],
): Promise<readonly ShardLook[]> {
  const { driver } = (await openStore({ warn: false })).context
  return Promise.all(
    presentShards(driver).map((shard) =>
      lookAtShard(shard, before.find(({ name }) => name === shard.name)?.now, signal),
    ),
  )
}

async function lookAtShard(shard: Shard, since: number | undefined, signal: AbortSignal): Promise<ShardLook> {
  const { name } = shard
  const startedAt = platformTime.elapsed()
  const answer = await shard.now({ signal }).catch(errorOfShard)
  const answersInMs = platformTime.elapsed() - startedAt
  if (isLooseleafError(answer)) return { name, error: answer }
  // A shard that answers may still refuse this statement.
  const sizes = await shard.sizes?.({ signal }).catch(errorOfShard)
  const entities = isLooseleafError(sizes) ? undefined : sizes?.entities
  const written = since === undefined ? undefined : await writtenSince(shard, since, answer, signal)
  return { name, answersInMs, entities, now: answer, written }
}

async function writtenSince(
  { entities }: Shard,
  since: number,
  now: number,
  signal: AbortSignal,
): Promise<Written | undefined> {
  const rows = await entities
    .pageByUpdated({ since }, MAX_WRITTEN, { signal, maxBody: 0 })
    .catch(errorOfShard)
  if (isLooseleafError(rows) || now <= since) return undefined
  const count = rows.filter(({ updated }) => updated < now).length
  return { perSecond: count / ((now - since) / 1e6), more: rows.length === MAX_WRITTEN }
}
