import type { EntityRow } from '@looseleaf/core'
import { derivedBatches } from '../look/derive-entity.ts'
import { inspect, type MissingRow } from '../look/inspect.ts'
import { lookAgain } from '../look/look-again.ts'
import type { IndexTarget } from '../pass/index-target.ts'
import { reconcile } from '../repair/reconcile.ts'
import type { RepairPass } from '../repair/repair-pass.ts'
import { candidatesOf, confirm } from './confirm.ts'

/**
 * One page of a check: adds what is missing, and answers how many rows were, beyond doubt, by index. Rows of an entity that
 * is written all the time count as missing too, so that the page is checked again.
 */
export async function checkEntityPage(
  pass: RepairPass,
  targets: readonly IndexTarget[],
  rows: readonly EntityRow[],
  settleMs: number,
): Promise<ReadonlyMap<IndexTarget, number>> {
  const counts = new Map<IndexTarget, number>()
  const living = rows.filter(({ body }) => body !== null)
  for (const entities of derivedBatches(pass, targets, living)) {
    const { missing } = await inspect(pass, targets, entities, { everywhere: false })
    await Promise.all(
      Array.from(
        Map.groupBy(missing, ({ target }) => target),
        async ([target, group]) => {
          const count = await addMissing(pass, target, group, settleMs)
          counts.set(target, (counts.get(target) ?? 0) + count)
        },
      ),
    )
  }
  return counts
}

function addMissing(
  pass: RepairPass,
  target: IndexTarget,
  missing: MissingRow[],
  settleMs: number,
): Promise<number> {
  return lookAgain(pass, async (again) => {
    const found = await confirm(again, target, candidatesOf({ missing }), { direction: 'missing', settleMs })
    const ids = [...found.missing.map(({ entity }) => entity.id), ...found.unsettled]
    await reconcile(again, [target], ids)
    return found.missing.length + found.unsettled.length
  })
}
