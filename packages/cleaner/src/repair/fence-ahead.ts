import { fence, isYoung } from '@looseleaf/protocol/internal'
import type { DerivedEntity } from '../look/derive-entity.ts'
import type { AheadRow } from '../look/inspect.ts'
import type { RepairPass } from './repair-pass.ts'

/**
 * Fences entities whose rows in covering indexes have the included properties of an attempt that never committed. Returns them: at their new
 * version these rows are outdated, and a further look rewrites them. Leaves rows alone that are younger than the grace time.
 */
export async function fenceAhead(
  pass: RepairPass,
  rows: readonly AheadRow[],
): Promise<readonly DerivedEntity[]> {
  const { context, graceMs, signal } = pass
  const old = rows.filter(({ version }) => !isYoung(context, version, graceMs))
  const byEntity = Map.groupBy(old, ({ entity }) => entity)
  for (const [entity, ahead] of byEntity) {
    const stamp = Math.max(...ahead.map(({ version }) => version))
    if ((await fence(context, entity, stamp, { signal })) !== undefined)
      pass.tallyOf(ahead[0]!.target).fenced++
  }
  return [...byEntity.keys()]
}
