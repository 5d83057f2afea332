import type { IndexRow } from '@looseleaf/core'
import type { MissingRow } from '../look/inspect.ts'
import { tellDuplicate } from '../look/tell-duplicates.ts'
import type { IndexTarget } from '../pass/index-target.ts'
import type { Pass } from '../pass/pass.ts'
import { chunks, ROWS_PER_WRITE } from '../tools/chunks.ts'
import { writeRows } from './write-rows.ts'

/**
 * Adds rows with the version at which their entity was read, which never lowers a stamp. A writer that has moved the
 * entity meanwhile may have deleted such a row before it was added again: it dangles then, with a stamp below the
 * entity's version, and whoever looks at the entity again deletes it.
 *
 * Answers how many claims could not be had: because another entity is committed with their key, which is reported, or not yet.
 */
export async function addRows(pass: Pass, rows: readonly MissingRow[]): Promise<number> {
  const groups = new Map<IndexTarget, Map<number, IndexRow[]>>()
  for (const { target, row, entity } of rows) {
    const shards = groups.get(target) ?? new Map<number, IndexRow[]>()
    groups.set(target, shards)
    const group = shards.get(row.shard) ?? []
    shards.set(row.shard, group)
    group.push({ key: row.key, entityId: entity.id, version: entity.version })
  }
  let notHad = 0
  await Promise.all(
    [...groups].flatMap(([target, shards]) =>
      [...shards].map(async ([shard, group]) => {
        for (const chunk of chunks(group, ROWS_PER_WRITE)) {
          const { duplicates, later } = await writeRows(pass.context, target, shard, chunk, pass.signal)
          for (const { row, holder } of duplicates)
            tellDuplicate(pass, target.entry.name, row.entityId, holder)
          pass.tallyOf(target).duplicates += duplicates.length
          notHad += duplicates.length + later
          pass.tallyOf(target).added += chunk.length - duplicates.length - later
        }
      }),
    ),
  )
  return notHad
}
