import { distinctIds, type EntityRow } from '@looseleaf/core/internal'
import { deleteDelayMs, movedEntities } from '@looseleaf/protocol/internal'
import { deriveAll } from '../look/derive-entity.ts'
import { inspect, type DanglingRow } from '../look/inspect.ts'
import { readDerived } from '../look/read-entities.ts'
import { entitiesOf, stillMissing } from '../look/still-missing.ts'
import type { IndexTarget } from '../pass/index-target.ts'
import { addRows } from './add-rows.ts'
import { removeRows } from './remove-rows.ts'
import type { RepairPass } from './repair-pass.ts'
import { replacedRows } from './replaced-rows.ts'

/** Largest number of looks. An entity that was written between all of them is left to the next pass. */
const MAX_LOOKS = 5

/**
 * Repairs all rows of these entities: adds missing rows, then deletes dangling ones. If an entity was written in between, looks at it again,
 * because it may have lost a row that was just added.
 * `read` holds the rows of these entities that the caller has just read, which saves the first read.
 * Returns the dangling rows that are too young to be judged, and the number of claims that could not be taken.
 */
export async function reconcile(
  pass: RepairPass,
  targets: readonly IndexTarget[],
  ids: readonly Uint8Array[],
  read?: readonly EntityRow[],
): Promise<{ readonly waiting: readonly DanglingRow[]; readonly duplicates: number }> {
  let duplicates = 0
  const waiting: DanglingRow[] = []
  let remaining: readonly Uint8Array[] = ids
  // The time of the caller's read is unknown, and needed if a failover can undo what was read.
  const canReuse = read !== undefined && deleteDelayMs(pass.context) === 0
  let derived = canReuse ? await deriveAll(pass, targets, read) : undefined
  for (let look = 0; remaining.length > 0 && look < MAX_LOOKS; look++) {
    const readAt = pass.time.now()
    const entities = derived ?? (await readDerived(pass, targets, remaining))
    const found = await inspect(pass, targets, entities, { everywhere: true })
    const still = await stillMissing(pass, found.missing)
    const added = [...still.missing, ...found.outdated]
    duplicates += await addRows(pass, added)
    const outcome = await removeRows(pass, found.dangling, readAt)
    waiting.push(...outcome.waiting)
    const moved = [
      ...still.moved,
      ...(await movedEntities(pass.context, entitiesOf(added), pass)),
      ...(await replacedRows(pass, added)),
    ]
    remaining = distinctIds([...moved.map(({ id }) => id), ...outcome.moved.map(({ row }) => row.entityId)])
    derived = undefined
  }
  return { waiting, duplicates }
}
