import { idKey, type IndexRow } from '@looseleaf/core/internal'
import type { IndexTarget } from '../pass/index-target.ts'
import type { Pass } from '../pass/pass.ts'
import { placementOf, type DanglingRow } from './inspect.ts'
import { readDerived } from './read-entities.ts'

export interface TargetRow {
  readonly target: IndexTarget
  readonly row: IndexRow
}

/**
 * Returns those of these rows that match no committed entity, or that are on the wrong shard. Reads the entities after the rows were read: in
 * the other order, a row of a writer that commits in between would seem to dangle.
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
    await pass.throttle.rest(pass.signal)
    const entity = entities.get(idKey(row.entityId))
    // The rows of a body that cannot be decoded are unknown.
    if (entity?.expected === undefined) continue
    const placement = placementOf(entity, target, shard, row)
    if (placement !== 'right')
      dangling.push({ entity, target, shard, row, misplaced: placement === 'misplaced' })
  }
  return dangling
}
