import { readDerived } from '../look/read-entities.ts'
import type { IndexTarget } from '../pass/index-target.ts'
import { reconcile } from '../repair/reconcile.ts'
import type { RepairPass } from '../repair/repair-pass.ts'
import { sweepDerived } from '../sweep/sweep-entities.ts'

/**
 * Writes every row of these entities with their current version, also rows that exist, and repairs their other rows. An existing row needs the
 * new stamp:
 * 1. Version 1 of an entity has the row. Version 2 loses it, and its writer schedules the delete of the row.
 * 2. Version 3 has the row again, but its write of the row is deferred, so the row keeps the stamp of version 1.
 * 3. The delete of version 2 removes every stamp below 2. Only the stamp of version 3 protects the row.
 */
export async function restamp(
  pass: RepairPass,
  target: IndexTarget,
  ids: readonly Uint8Array[],
): Promise<void> {
  await sweepDerived(pass, [target], await readDerived(pass, [target], ids), { fill: () => true })
  await reconcile(pass, [target], ids)
}
