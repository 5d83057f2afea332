import type { EntityPageRow } from '@looseleaf/core'
import { addRows } from './add-rows.ts'
import { candidatesOf, confirm } from './confirm.ts'
import { deriveEntity } from './derive-entity.ts'
import { inspect } from './inspect.ts'
import type { IndexTarget } from './index-target.ts'
import { lookAgain } from './look-again.ts'
import type { Pass } from './pass.ts'
import { reconcile } from './reconcile.ts'

/**
 * One page of a check: adds what is missing, and answers how many rows were, beyond doubt. Rows of an entity that is
 * written all the time count as missing too, so that the page is checked again.
 */
export async function checkEntityPage(
  pass: Pass,
  target: IndexTarget,
  rows: readonly EntityPageRow[],
  settleMs: number,
): Promise<number> {
  const entities = rows
    .filter(({ body }) => body !== null)
    .map((row) => deriveEntity(pass, [target], row.id, row))
  const { missing } = await inspect(pass, [target], entities, { everywhere: false })
  if (missing.length === 0) return 0
  return lookAgain(pass, async (again) => {
    const found = await confirm(again, target, candidatesOf({ missing }), { direction: 'missing', settleMs })
    await addRows(again, found.missing)
    const ids = [...found.missing.map(({ entity }) => entity.id), ...found.unsettled]
    await reconcile(again, [target], ids)
    return found.missing.length + found.unsettled.length
  })
}
