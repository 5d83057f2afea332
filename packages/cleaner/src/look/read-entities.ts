import { distinctIds, idKey, type EntityRow } from '@looseleaf/core'
import { longestBody, wholeRows } from '@looseleaf/index-engine'
import pLimit from 'p-limit'
import { shardAt, type IndexTarget } from '../pass/index-target.ts'
import type { Pass } from '../pass/pass.ts'
import { chunks } from '../tools/chunks.ts'
import { deriveEntity, type DerivedEntity } from './derive-entity.ts'

/** Ids per statement; a prepared statement of another length is another one to the server. */
const IDS_PER_READ = 256
const SHARDS_AT_ONCE = 4

/** Groups ids, each once, by the shard of their entity. */
export function idsByShard(
  { context }: Pick<Pass, 'context'>,
  ids: Iterable<Uint8Array>,
): Map<number, Uint8Array[]> {
  return Map.groupBy(distinctIds(ids), (id) => context.router.shardOfId(id))
}

/**
 * Reads the committed rows of these ids, tombstones too, and hands over each as it comes: so many bodies are not in hand
 * at once. Of an id that has no row nothing comes.
 */
export async function eachEntity(
  pass: Pick<Pass, 'context' | 'signal'>,
  ids: Iterable<Uint8Array>,
  visit: (row: EntityRow) => void,
): Promise<void> {
  const { signal } = pass
  const limit = pLimit(SHARDS_AT_ONCE)
  await Promise.all(
    [...idsByShard(pass, ids)].map(([shard, group]) =>
      limit(async () => {
        const { entities } = shardAt(pass.context, shard)
        for (const chunk of chunks(group, IDS_PER_READ)) {
          const rows = await entities.readBounded(chunk, longestBody(chunk.length), { signal })
          const there = rows.filter((row) => row !== undefined)
          for await (const batch of wholeRows(entities, there, { signal }))
            for (const row of batch) visit(row)
        }
      }),
    ),
  )
}

/** The entities of these ids as they are now, each once, those that are not there too. */
export async function readDerived(
  pass: Pass,
  targets: readonly IndexTarget[],
  ids: Iterable<Uint8Array>,
): Promise<DerivedEntity[]> {
  const derived = new Map<string, DerivedEntity | Uint8Array>()
  for (const id of ids) derived.set(idKey(id), id)
  const all = [...derived.values()] as Uint8Array[]
  await eachEntity(pass, all, (row) => derived.set(idKey(row.id), deriveEntity(pass, targets, row.id, row)))
  return Array.from(derived.values(), (found) =>
    found instanceof Uint8Array ? deriveEntity(pass, targets, found, undefined) : found,
  )
}

/** Those of these entities whose committed version is no longer this one. */
export async function movedEntities<Item extends { readonly id: Uint8Array; readonly version: number }>(
  pass: Pass,
  entities: readonly Item[],
): Promise<Item[]> {
  const versions = new Map(entities.map((entity) => [idKey(entity.id), entity]))
  const moved: Item[] = []
  await Promise.all(
    [
      ...idsByShard(
        pass,
        entities.map(({ id }) => id),
      ),
    ].map(async ([shard, group]) => {
      const table = shardAt(pass.context, shard).entities
      for (const chunk of chunks(group, IDS_PER_READ)) {
        const now = await table.readVersions(chunk, { signal: pass.signal })
        chunk.forEach((id, i) => {
          const entity = versions.get(idKey(id))
          if (entity !== undefined && entity.version !== (now[i] ?? 0)) moved.push(entity)
        })
      }
    }),
  )
  return moved
}
