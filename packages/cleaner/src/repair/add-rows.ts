import { writeAgain } from '@looseleaf/protocol'
import type { MissingRow } from '../look/inspect.ts'
import { tellDuplicate } from '../look/tell-duplicates.ts'
import { tableOn } from '../pass/index-target.ts'
import type { Pass } from '../pass/pass.ts'
import { sizeClass } from '../pass/throttle.ts'
import { chunks, ROWS_PER_WRITE } from '../tools/chunks.ts'

/**
 * Adds rows with the version at which their entity was read (`writeAgain`): whoever calls this looks at the versions of the
 * entities afterwards.
 *
 * Answers how many claims could not be had: because another entity is committed with their key, which is reported, or not yet.
 */
export async function addRows(pass: Pass, missing: readonly MissingRow[]): Promise<number> {
  const groups = Map.groupBy(missing, ({ target, row }) => tableOn(target, row.shard))
  let notHad = 0
  await Promise.all(
    Array.from(groups.values(), async (group) => {
      const { target, row: first } = group[0] as MissingRow
      const tally = pass.tallyOf(target)
      for (const chunk of chunks(group, ROWS_PER_WRITE)) {
        const rows = chunk.map(({ row, entity }) => ({
          key: row.key,
          entityId: entity.id,
          version: entity.version,
          included: row.included,
        }))
        const { duplicates, later } = await pass.throttle.work(
          first.shard,
          `writes ${target.entry.table} ${sizeClass(rows.length)}`,
          (measured) => writeAgain(pass.context, target.entry, first.shard, rows, pass.signal, measured),
          pass.signal,
        )
        for (const { entityId, holder } of duplicates)
          tellDuplicate(pass, target.entry.name, entityId, holder)
        const refused = duplicates.length + later
        tally.duplicates += duplicates.length
        // A row that a fence has left behind was not missing.
        tally.added += rows.length - refused - chunk.filter(({ outdated }) => outdated).length
        notHad += refused
      }
    }),
  )
  return notHad
}
