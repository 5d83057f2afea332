import { writeAgain, sizeClass } from '@looseleaf/protocol/internal'
import type { MissingRow } from '../look/inspect.ts'
import { reportDuplicate } from '../look/report-duplicates.ts'
import { tableOn } from '../pass/index-target.ts'
import type { Pass } from '../pass/pass.ts'
import { chunks, ROWS_PER_WRITE } from '../tools/chunks.ts'

/**
 * Writes rows with the version at which their entity was read (`writeAgain`). The caller has to compare the versions of the entities
 * afterwards, because an entity may have lost the row in between.
 *
 * Returns the number of claims that could not be taken: another committed entity has the key, which is reported, or a claim has to wait.
 */
export async function addRows(pass: Pass, missing: readonly MissingRow[]): Promise<number> {
  const groups = Map.groupBy(missing, ({ target, row }) => tableOn(target, row.shard))
  let refusedClaims = 0
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
          reportDuplicate(pass, target.entry.name, entityId, holder)
        const refused = duplicates.length + later
        tally.duplicates += duplicates.length
        // An outdated row was not missing: after a fence, the rows of a covering index have an older stamp than their entity.
        tally.added += rows.length - refused - chunk.filter(({ outdated }) => outdated).length
        refusedClaims += refused
      }
    }),
  )
  return refusedClaims
}
