import type { EntityRow } from '@looseleaf/core/internal'
import { movedEntities, movedOrUndone } from '@looseleaf/protocol/internal'
import { derivedBatches, expectedIn, type DerivedEntity } from '../look/derive-entity.ts'
import { inspect, type MissingRow } from '../look/inspect.ts'
import { recheck } from '../look/recheck.ts'
import { readDerived } from '../look/read-entities.ts'
import { entitiesOf, stillMissing } from '../look/still-missing.ts'
import type { IndexTarget } from '../pass/index-target.ts'
import { addRows } from '../repair/add-rows.ts'
import { fenceAhead } from '../repair/fence-ahead.ts'
import { reconcile } from '../repair/reconcile.ts'
import type { RepairPass } from '../repair/repair-pass.ts'
import { replacedRows } from '../repair/replaced-rows.ts'

/** Largest number of looks. An entity that was written between all of them has writers that know the index and add its rows. */
const MAX_LOOKS = 5

/**
 * Works on one page of entities of a shard: adds missing rows, and rewrites wrong included properties. `fill` tells whether an index is
 * filled: all of its rows are written without a look-up, which is cheaper while most are missing, and the entities that were read are made
 * durable.
 */
export async function sweepEntityPage(
  pass: RepairPass,
  targets: readonly IndexTarget[],
  rows: readonly EntityRow[],
  fill: (target: IndexTarget) => boolean = () => false,
): Promise<void> {
  const living = rows.filter(({ body }) => body !== null)
  for await (const batch of derivedBatches(pass, targets, living))
    await sweepDerived(pass, targets, batch, fill)
  const filled = targets.filter(fill)
  if (filled.length > 0) await fillDurably(pass, filled, rows)
}

/** Adds missing rows of entities that were just read and derived. */
export async function sweepDerived(
  pass: RepairPass,
  targets: readonly IndexTarget[],
  entities: readonly DerivedEntity[],
  fill: (target: IndexTarget) => boolean,
): Promise<void> {
  const added = allRows(targets.filter(fill), entities)
  const movedAlready: DerivedEntity[] = []
  const swept = targets.filter((target) => !fill(target))
  if (swept.length > 0) {
    const found = await inspect(pass, swept, entities, { everywhere: false })
    const still = await stillMissing(pass, found.missing)
    added.push(...still.missing, ...found.outdated)
    movedAlready.push(...still.moved, ...(await fenceAhead(pass, found.ahead)))
  }
  if (added.length === 0 && movedAlready.length === 0) return
  await addRows(pass, added)
  // An entity that was written in between may have lost a row before it was added here.
  const moved = new Set([
    ...movedAlready,
    ...(await movedEntities(pass.context, entitiesOf(added), pass)),
    ...(await replacedRows(pass, added)),
  ])
  if (moved.size > 0)
    await recheck(pass, (silentPass) => reconcile(silentPass, targets, [...moved].map(idOf)))
}

/**
 * Makes sure that the rows of a filling rest on durable versions, also for entities without rows. Without this:
 * 1. Version 1 of an entity, from before the index, is durable. Version 2 without the key is committed but not durable.
 * 2. The filling reads version 2, writes no row, and the index becomes ready.
 * 3. The server crashes, and version 1 is back. No process has written its row.
 */
async function fillDurably(
  pass: RepairPass,
  targets: readonly IndexTarget[],
  rows: readonly EntityRow[],
): Promise<void> {
  const moved = await movedOrUndone(pass.context, rows, pass)
  if (moved.length === 0) return
  await recheck(pass, async (silentPass) => {
    let remaining: readonly { readonly id: Uint8Array }[] = moved
    for (let look = 1; remaining.length > 0 && look < MAX_LOOKS; look++) {
      const entities = await readDerived(silentPass, targets, remaining.map(idOf))
      await addRows(silentPass, allRows(targets, entities))
      remaining = await movedOrUndone(pass.context, entities, pass)
    }
    // An entity that was written in between may have lost a row before it was added above.
    await reconcile(silentPass, targets, moved.map(idOf))
  })
}

const idOf = ({ id }: { readonly id: Uint8Array }): Uint8Array => id

function allRows(targets: readonly IndexTarget[], entities: readonly DerivedEntity[]): MissingRow[] {
  return entities.flatMap((entity) =>
    targets.flatMap((target) => expectedIn(entity, target).map((row) => ({ entity, target, row }))),
  )
}
