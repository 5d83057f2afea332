import type { EntityRow } from '@looseleaf/core'
import { movedEntities, movedOrUndone } from '@looseleaf/protocol'
import { derivedBatches, expectedIn, type DerivedEntity } from '../look/derive-entity.ts'
import { inspect, type MissingRow } from '../look/inspect.ts'
import { lookAgain } from '../look/look-again.ts'
import { readDerived } from '../look/read-entities.ts'
import type { IndexTarget } from '../pass/index-target.ts'
import { addRows } from '../repair/add-rows.ts'
import { reconcile } from '../repair/reconcile.ts'
import type { RepairPass } from '../repair/repair-pass.ts'

/** An entity that moves on between this many looks is written by writers who know the index. */
const MAX_LOOKS = 5

export interface SweepPageOptions {
  /**
   * Where nothing is looked up and every row is written, which is the cheaper way while most are missing; and what was
   * read is on disk then.
   */
  fill(target: IndexTarget): boolean
}

/** One page of a pass over the entities of a shard: adds the rows of living entities that are missing. */
export async function sweepEntityPage(
  pass: RepairPass,
  targets: readonly IndexTarget[],
  rows: readonly EntityRow[],
  options: SweepPageOptions,
): Promise<void> {
  const living = rows.filter(({ body }) => body !== null)
  for (const batch of derivedBatches(pass, targets, living)) await sweepDerived(pass, targets, batch, options)
  const filled = targets.filter((target) => options.fill(target))
  if (filled.length > 0) await fillForGood(pass, filled, rows)
}

/** The same for entities that were just read. */
export async function sweepDerived(
  pass: RepairPass,
  targets: readonly IndexTarget[],
  entities: readonly DerivedEntity[],
  { fill }: SweepPageOptions,
): Promise<void> {
  const missing = allRows(targets.filter(fill), entities)
  const looked = targets.filter((target) => !fill(target))
  if (looked.length > 0) {
    const found = await inspect(pass, looked, entities, { everywhere: false })
    missing.push(...found.missing, ...found.outdated)
  }
  if (missing.length === 0) return
  await addRows(pass, missing)
  // An entity that has moved meanwhile may have lost a row before it was added here.
  const moved = await movedEntities(pass.context, [...new Set(missing.map(({ entity }) => entity))], pass)
  if (moved.length > 0) await lookAgain(pass, (again) => reconcile(again, targets, moved.map(idOf)))
}

/**
 * An index becomes ready by what was read here. A crash must not bring back a version of before the index, whose rows nobody
 * has written; so what was read is held against the disk, that an entity has no rows as well.
 */
async function fillForGood(
  pass: RepairPass,
  targets: readonly IndexTarget[],
  rows: readonly EntityRow[],
): Promise<void> {
  const moved = await movedOrUndone(pass.context, rows, pass)
  if (moved.length === 0) return
  await lookAgain(pass, async (again) => {
    let left: readonly { readonly id: Uint8Array }[] = moved
    for (let look = 1; left.length > 0 && look < MAX_LOOKS; look++) {
      const now = await readDerived(again, targets, left.map(idOf))
      await addRows(again, allRows(targets, now))
      left = await movedOrUndone(pass.context, now, pass)
    }
    // One that has moved may have lost a row before it was added here.
    await reconcile(again, targets, moved.map(idOf))
  })
}

const idOf = ({ id }: { readonly id: Uint8Array }): Uint8Array => id

function allRows(targets: readonly IndexTarget[], entities: readonly DerivedEntity[]): MissingRow[] {
  return entities.flatMap((entity) =>
    targets.flatMap((target) => expectedIn(entity, target).map((row) => ({ entity, target, row }))),
  )
}
