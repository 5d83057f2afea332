import { idKey, type IndexRow } from '@looseleaf/core'
import type { IndexTarget } from '../pass/index-target.ts'
import type { Pass } from '../pass/pass.ts'
import { placeOf, type DanglingRow } from './inspect.ts'
import { readDerived } from './read-entities.ts'

/** A row of one of several indexes. */
export interface TargetRow {
  readonly target: IndexTarget
  readonly row: IndexRow
}

/**
 * The rows that are not those of a committed entity, or stand on the wrong shard. The rows have been read before the
 * entities, so that a writer that was about to commit is not taken for a dead one.
 */
export async function danglingAmong(
  pass: Pass,
  shard: number,
  rows: readonly TargetRow[],
): Promise<DanglingRow[]> {
  const targets = [...new Set(rows.map(({ target }) => target))]
  const read = await readDerived(
    pass,
    targets,
    rows.map(({ row }) => row.entityId),
  )
  const entities = new Map(read.map((entity) => [idKey(entity.id), entity]))
  const dangling: DanglingRow[] = []
  for (const { target, row } of rows) {
    const entity = entities.get(idKey(row.entityId))
    // Nobody knows which rows belong to a body that cannot be decoded.
    if (entity?.expected === undefined) continue
    const place = placeOf(entity, target, shard, row)
    if (place !== 'right') dangling.push({ entity, target, shard, row, misplaced: place === 'misplaced' })
  }
  return dangling
}
