import type { IndexRow } from '@looseleaf/core'
import type { MissingRow } from '../look/inspect.ts'
import { tableOn, type IndexTarget } from '../pass/index-target.ts'
import type { Pass } from '../pass/pass.ts'
import { chunks, ROWS_PER_WRITE } from '../tools/chunks.ts'

/**
 * Adds rows with the version at which their entity was read, which never lowers a stamp. A writer that has moved the
 * entity meanwhile may have deleted such a row before it was added again: it dangles then, with a stamp below the
 * entity's version, and whoever looks at the entity again deletes it.
 */
export async function addRows(pass: Pass, rows: readonly MissingRow[]): Promise<void> {
  const groups = new Map<IndexTarget, Map<number, IndexRow[]>>()
  for (const { target, row, entity } of rows) {
    const shards = groups.get(target) ?? new Map<number, IndexRow[]>()
    groups.set(target, shards)
    const group = shards.get(row.shard) ?? []
    shards.set(row.shard, group)
    group.push({ key: row.key, entityId: entity.id, version: entity.version })
  }
  await Promise.all(
    [...groups].flatMap(([target, shards]) =>
      [...shards].map(async ([shard, group]) => {
        for (const chunk of chunks(group, ROWS_PER_WRITE)) {
          await tableOn(target, shard).upsert(chunk, { signal: pass.signal })
          pass.tallyOf(target).added += chunk.length
        }
      }),
    ),
  )
}
