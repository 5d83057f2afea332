import type { EntityRow } from '@looseleaf/core/internal'
import { derivedBatches } from '../look/derive-entity.ts'
import { inspect, type MissingRow } from '../look/inspect.ts'
import { isRead } from '../look/is-read.ts'
import { recheck } from '../look/recheck.ts'
import { entitiesOf } from '../look/still-missing.ts'
import type { IndexTarget } from '../pass/index-target.ts'
import { reconcile } from '../repair/reconcile.ts'
import type { RepairPass } from '../repair/repair-pass.ts'
import { candidatesOf, confirm } from './confirm.ts'

/** Missing rows, and separately claims that are missing because another entity has the key. */
export interface MissingCounts {
  readonly missing: number
  readonly duplicates: number
}

/**
 * Checks one page of entities: adds rows that are missing where they are read, and returns their confirmed number by index. On the other shard of
 * a move, rows are missing until its mover has copied them. Rows of an entity that is written at every look count as missing too, so that the
 * check repeats. Claims of another entity are counted separately, because another check would find them again.
 *
 * Claims that are being filled have to be on the other shard as well, because their mover may have compared the claims already:
 * 1. A filler takes a claim at the source. At the target a dead attempt has the key, which a failover may restore.
 * 2. The claims become ready, and the move ends.
 * 3. Another entity takes the key over from the dead attempt.
 */
export async function checkEntityPage(
  pass: RepairPass,
  targets: readonly IndexTarget[],
  rows: readonly EntityRow[],
  settleMs: number,
): Promise<ReadonlyMap<IndexTarget, MissingCounts>> {
  const counts = new Map<IndexTarget, MissingCounts>()
  const living = rows.filter(({ body }) => body !== null)
  for await (const entities of derivedBatches(pass, targets, living)) {
    const found = await inspect(pass, targets, entities, { everywhere: false })
    const wanted = found.missing.filter((row) => isRead(pass, row) || isFilled(row))
    await Promise.all(
      Array.from(
        Map.groupBy(wanted, ({ target }) => target),
        async ([target, rowsOfTarget]) => {
          const missing = rowsOfTarget.filter((row) => isRead(pass, row))
          const added = missing.length === 0 ? NONE : await addMissing(pass, target, missing, settleMs)
          const refused = await takeElsewhere(pass, target, rowsOfTarget, missing)
          const before = counts.get(target) ?? NONE
          counts.set(target, {
            missing: before.missing + added.missing,
            duplicates: before.duplicates + added.duplicates + refused,
          })
        },
      ),
    )
  }
  return counts
}

const NONE: MissingCounts = { missing: 0, duplicates: 0 }

function isFilled({ target: { entry } }: MissingRow): boolean {
  return entry.unique === true && entry.state === 'building'
}

/** Takes claims of entities that have all of them where they are read. Returns the number of those that could not be taken. */
async function takeElsewhere(
  pass: RepairPass,
  target: IndexTarget,
  claims: readonly MissingRow[],
  missing: readonly MissingRow[],
): Promise<number> {
  const added = new Set(missing.map(({ entity }) => entity))
  const ids = entitiesOf(claims.filter(({ entity }) => !added.has(entity))).map(({ id }) => id)
  const { duplicates } = await recheck(pass, (silentPass) => reconcile(silentPass, [target], ids))
  return duplicates
}

function addMissing(
  pass: RepairPass,
  target: IndexTarget,
  missing: MissingRow[],
  settleMs: number,
): Promise<MissingCounts> {
  return recheck(pass, async (silentPass) => {
    const found = await confirm(silentPass, target, candidatesOf({ missing }), {
      direction: 'missing',
      settleMs,
    })
    const confirmed = found.missing.filter((row) => isRead(silentPass, row))
    const ids = [...confirmed.map(({ entity }) => entity.id), ...found.unsettled]
    const { duplicates } = await reconcile(silentPass, [target], ids)
    const missingNow = Math.max(0, confirmed.length + found.unsettled.length - duplicates)
    // Another process may have taken a claim where it is read since the first look.
    const refused = await takeElsewhere(silentPass, target, found.missing.filter(isFilled), confirmed)
    return { missing: missingNow, duplicates: duplicates + refused }
  })
}
