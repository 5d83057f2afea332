import { judgeDangling, type Judged } from '@looseleaf/protocol'
import type { DanglingRow } from '../look/inspect.ts'
import { countRemoved, type RepairPass } from './repair-pass.ts'

/**
 * Deletes dangling rows by the third law, and answers those of which it does not allow that now (`judgeDangling`).
 *
 * A row of an entity that has other rows in the index is kept for as long as a query may take: one that began before the
 * entity moved may have passed by its new row already. Whoever calls this sees to it that `pass.removals` are sent then.
 * Where `pass.leaves` it to its writer, nothing is done about it.
 *
 * `readAt`: the time before the entities were read, in milliseconds.
 */
export async function removeRows(
  pass: RepairPass,
  dangling: readonly DanglingRow[],
  readAt: number,
): Promise<Judged<DanglingRow>> {
  const { context, removals, signal, graceMs, leaves } = pass
  const judged = await judgeDangling(context, dangling, {
    readAt,
    graceMs,
    leaves,
    signal,
    onCleared: (found, version) => removals.add(found, version),
    onFenced: ({ target }) => void pass.tallyOf(target).fenced++,
  })
  for (const { target } of judged.waiting) pass.tallyOf(target).waiting++
  countRemoved(pass, await removals.sendDue(signal))
  return judged
}
