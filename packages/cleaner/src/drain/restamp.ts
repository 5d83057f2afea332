import { readDerived } from '../look/read-entities.ts'
import type { IndexTarget } from '../pass/index-target.ts'
import { reconcile } from '../repair/reconcile.ts'
import type { RepairPass } from '../repair/repair-pass.ts'
import { sweepDerived } from '../sweep/sweep-entities.ts'

/**
 * Writes every row of these entities, those that seem to be there too, and puts right what else is wrong with them. A row
 * that was deferred may be there from an earlier version, whose writer lost it and is still to delete it: only the stamp
 * that the deferred write could not give it makes that delete spare it.
 */
export async function restamp(
  pass: RepairPass,
  target: IndexTarget,
  ids: readonly Uint8Array[],
): Promise<void> {
  await sweepDerived(pass, [target], await readDerived(pass, [target], ids), { fill: () => true })
  await reconcile(pass, [target], ids)
}
