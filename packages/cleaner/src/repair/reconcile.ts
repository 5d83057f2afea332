import { distinctIds, type EntityRow } from '@looseleaf/core'
import { deleteDelayMs, movedEntities } from '@looseleaf/protocol'
import { deriveEntity, type DerivedEntity } from '../look/derive-entity.ts'
import { inspect, type DanglingRow } from '../look/inspect.ts'
import { readDerived } from '../look/read-entities.ts'
import type { IndexTarget } from '../pass/index-target.ts'
import { addRows } from './add-rows.ts'
import { removeRows } from './remove-rows.ts'
import type { RepairPass } from './repair-pass.ts'

/** An entity that moves on between this many looks is left to the next pass. */
const MAX_LOOKS = 5

/**
 * Puts all rows of these entities right, in both directions: missing rows are added, then dangling ones deleted. Where
 * the entity has moved meanwhile it is looked at again, since a row may have been added that it has lost by then.
 * `read`: what was read of them a moment ago, to save the first reading.
 * Answers the dangling rows that are too young to be judged, and how many claims could not be had.
 */
export async function reconcile(
  pass: RepairPass,
  targets: readonly IndexTarget[],
  ids: readonly Uint8Array[],
  read?: readonly EntityRow[],
): Promise<{ readonly waiting: readonly DanglingRow[]; readonly duplicates: number }> {
  let duplicates = 0
  const waiting: DanglingRow[] = []
  let left: readonly Uint8Array[] = ids
  // Nobody knows when that was, which matters where a failover can undo what was read.
  const canReuse = read !== undefined && deleteDelayMs(pass.context) === 0
  let derived = canReuse ? read.map((row) => deriveEntity(pass, targets, row.id, row)) : undefined
  for (let look = 0; left.length > 0 && look < MAX_LOOKS; look++) {
    const readAt = pass.time.now()
    const entities = derived ?? (await readDerived(pass, targets, left))
    const found = await inspect(pass, targets, entities, { everywhere: true })
    const added = [...found.missing, ...found.outdated]
    duplicates += await addRows(pass, added)
    const outcome = await removeRows(pass, found.dangling, readAt)
    waiting.push(...outcome.waiting)
    const touched = new Set<DerivedEntity>(added.map(({ entity }) => entity))
    const moved = await movedEntities(pass.context, [...touched], pass)
    left = distinctIds([...moved.map(({ id }) => id), ...outcome.moved.map(({ row }) => row.entityId)])
    derived = undefined
  }
  return { waiting, duplicates }
}
