import { judgeDangling, type Judged } from '@looseleaf/protocol/internal'
import type { DanglingRow } from '../look/inspect.ts'
import type { RepairPass } from './repair-pass.ts'

/**
 * Deletes dangling rows by the third law, and returns the rows that it does not allow to delete now (`judgeDangling`).
 *
 * If the entity has other rows in the index, its row is kept for the time that a query may take: a query that began before the write may have
 * passed the place of the new row already. The caller has to send `pass.removals` later. Rows that `pass.leaves` leaves to their writers are
 * skipped.
 *
 * `readAt` is the time before the entities were read, in milliseconds.
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
  for (const { target } of judged.waiting) pass.tallyOf(target).postponed++
  await removals.sendDue(signal)
  return judged
}
