import { chunks, idKey, type IndexRow } from '@looseleaf/core/internal'
import { shardsOfRow } from '@looseleaf/index-engine/internal'
import { writeAgain, sizeClass } from '@looseleaf/protocol/internal'
import type { MissingRow } from '../look/inspect.ts'
import { isRead } from '../look/is-read.ts'
import { reportDuplicate } from '../look/report-duplicates.ts'
import { tableOn } from '../pass/index-target.ts'
import type { Pass } from '../pass/pass.ts'
import { ROWS_PER_WRITE } from '../tools/sizes.ts'

/**
 * Writes rows with the version at which their entity was read (`writeAgain`). The caller has to compare the versions of the entities
 * afterwards, because an entity may have lost the row in between.
 *
 * During a move, takes a claim at the source before the target, like `takeKey`. Otherwise two entities with one key would each have it on
 * one shard, and a third one could take it from the second.
 *
 * Returns the number of claims that could not be taken: another committed entity has the key, which is reported, or a claim has to wait.
 */
export async function addRows(pass: Pass, missing: readonly MissingRow[]): Promise<number> {
  const { placement } = pass.context.catalog.current()
  const isSecond = ({ target: { entry }, entity, row }: MissingRow): boolean =>
    entry.unique === true && shardsOfRow(entry, placement, row.key, entity.id)[0] !== row.shard
  const { true: second = [], false: first = [] } = Object.groupBy(missing, (row) => `${isSecond(row)}`)
  const refused = await write(pass, first)
  const isRefused = new Set(refused.map(claimName))
  const refusedToo = await write(
    pass,
    second.filter((row) => !isRefused.has(claimName(row))),
  )
  return refused.length + refusedToo.length
}

const claimName = ({ target, entity, row }: MissingRow): string =>
  `${target.entry.table} ${row.identity} ${idKey(entity.id)}`

/**
 * Tells whether a written row was missing. An outdated one was not: after a fence, the rows of a covering index have an older stamp than their
 * entity. Neither is one on the other shard of a move: its mover copies it.
 */
const wasMissing = (pass: Pass, row: MissingRow): boolean => row.outdated !== true && isRead(pass, row)

/** Writes the rows, and returns the claims that could not be taken. */
async function write(pass: Pass, missing: readonly MissingRow[]): Promise<readonly MissingRow[]> {
  const groups = Map.groupBy(missing, ({ target, row }) => tableOn(target, row.shard))
  const refused: MissingRow[] = []
  await Promise.all(
    Array.from(groups.values(), async (group) => {
      const { target, row: first } = group[0] as MissingRow
      const tally = pass.tallyOf(target)
      for (const chunk of chunks(group, ROWS_PER_WRITE)) {
        const rows = new Map<IndexRow, MissingRow>(
          chunk.map((each) => {
            const { row, entity } = each
            const { key, included } = row
            return [{ key, entityId: entity.id, version: entity.version, included }, each]
          }),
        )
        const { duplicates, later } = await pass.throttle.work(
          first.shard,
          `writes ${target.entry.table} ${sizeClass(rows.size)}`,
          (measured) =>
            writeAgain(pass.context, target.entry, first.shard, [...rows.keys()], pass.signal, measured),
          pass.signal,
        )
        for (const { claim, holder } of duplicates)
          reportDuplicate(pass, target.entry.name, claim.entityId, holder)
        const untaken = [...duplicates.map(({ claim }) => claim), ...later].map((row) => rows.get(row)!)
        tally.duplicates += duplicates.length
        const isUntaken = new Set(untaken)
        tally.added += chunk.filter((row) => wasMissing(pass, row) && !isUntaken.has(row)).length
        refused.push(...untaken)
      }
    }),
  )
  return refused
}
