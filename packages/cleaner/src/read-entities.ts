import type { EntityRow } from '@looseleaf/core'
import { chunks } from './chunks.ts'
import { idKey } from './id-key.ts'
import { shardAt } from './index-target.ts'
import type { Pass } from './pass.ts'

/** Ids per statement; a prepared statement of another length is another one to the server. */
const IDS_PER_READ = 256

/** Groups ids, each once, by the shard of their entity. */
export function idsByShard(pass: Pass, ids: Iterable<Uint8Array>): Map<number, Uint8Array[]> {
  const seen = new Set<string>()
  const groups = new Map<number, Uint8Array[]>()
  for (const id of ids) {
    const key = idKey(id)
    if (seen.has(key)) continue
    seen.add(key)
    const shard = pass.context.router.shardOfId(id)
    const group = groups.get(shard)
    if (group === undefined) groups.set(shard, [id])
    else group.push(id)
  }
  return groups
}

/** The committed rows of these ids, tombstones too, by `idKey`; nothing for an id that has no row. */
export async function readEntities(pass: Pass, ids: Iterable<Uint8Array>): Promise<Map<string, EntityRow>> {
  const found = new Map<string, EntityRow>()
  await Promise.all(
    [...idsByShard(pass, ids)].map(async ([shard, group]) => {
      const { entities } = shardAt(pass.context, shard)
      for (const chunk of chunks(group, IDS_PER_READ)) {
        const rows = await entities.read(chunk, { signal: pass.signal })
        for (const row of rows) if (row !== undefined) found.set(idKey(row.id), row)
      }
    }),
  )
  return found
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
