import type { EntityRow } from '@looseleaf/core'
import { addRows } from './add-rows.ts'
import { deriveEntity, expectedIn, type DerivedEntity } from './derive-entity.ts'
import { inspect, type MissingRow } from './inspect.ts'
import type { IndexTarget } from './index-target.ts'
import { lookAgain } from './look-again.ts'
import type { Pass } from './pass.ts'
import { movedEntities } from './read-entities.ts'
import { reconcile } from './reconcile.ts'

/**
 * One page of a pass over the entities of a shard: adds the rows of living entities that are missing. With `fill`
 * nothing is looked up and every row is written, which is the cheaper way while most are missing.
 */
export async function sweepEntityPage(
  pass: Pass,
  targets: readonly IndexTarget[],
  rows: readonly EntityRow[],
  { fill }: { readonly fill: boolean },
): Promise<void> {
  const entities = rows
    .filter(({ body }) => body !== null)
    .map((row) => deriveEntity(pass, targets, row.id, row))
  const missing = fill
    ? allRows(targets, entities)
    : (await inspect(pass, targets, entities, { everywhere: false })).missing
  if (missing.length === 0) return
  await addRows(pass, missing)
  // An entity that has moved meanwhile may have lost a row before it was added here.
  const moved = await movedEntities(pass, [...new Set(missing.map(({ entity }) => entity))])
  if (moved.length === 0) return
  await lookAgain(pass, (again) =>
    reconcile(
      again,
      targets,
      moved.map(({ id }) => id),
    ),
  )
}

function allRows(targets: readonly IndexTarget[], entities: readonly DerivedEntity[]): MissingRow[] {
  return entities.flatMap((entity) =>
    targets.flatMap((target) => expectedIn(entity, target).map((row) => ({ entity, target, row }))),
  )
}
