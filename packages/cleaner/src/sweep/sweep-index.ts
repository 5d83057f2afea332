import { chunks, distinctIds, idKey, type IndexRow } from '@looseleaf/core/internal'
import { danglingAmong, type TargetRow } from '../look/dangling-among.ts'
import { recheck } from '../look/recheck.ts'
import { otherVersionRows } from '../look/other-version-rows.ts'
import type { IndexTarget } from '../pass/index-target.ts'
import type { Pass } from '../pass/pass.ts'
import { reconcile } from '../repair/reconcile.ts'
import { removeRows } from '../repair/remove-rows.ts'
import type { RepairPass } from '../repair/repair-pass.ts'
import { IDS_PER_LOOKUP, ROWS_IN_HAND } from '../tools/sizes.ts'

/** Pages of rows that are gathered before they are compared with their entities, so that an entity is read once for all of them. */
const PAGES_AT_ONCE = 16
const ENTITIES_AT_ONCE = 100

/** Gathers pages of rows of several indexes on one shard. */
export interface GatheredRows {
  add(target: IndexTarget, rows: readonly IndexRow[]): void
  readonly areMany: boolean
  /** Returns the rows added since the last call. */
  take(): readonly TargetRow[]
}

export function gatherRows({ maxPage }: Pass): GatheredRows {
  let gathered: TargetRow[] = []
  return {
    add(target, rows) {
      for (const row of rows) gathered.push({ target, row })
    },
    get areMany() {
      return gathered.length >= PAGES_AT_ONCE * maxPage
    },
    take() {
      const taken = gathered
      gathered = []
      return taken
    },
  }
}

/**
 * Deletes those of these rows that do not match a committed entity. Neither counts nor reports entities; the pass over the entities does.
 * `isFilling` marks indexes whose rows were all just written. Their rows with the version of their entity count as right, so no body is read
 * for them.
 */
export async function sweepIndexRows(
  pass: RepairPass,
  shard: number,
  rows: readonly TargetRow[],
  isFilling: (target: IndexTarget) => boolean = () => false,
): Promise<void> {
  for (const { target } of rows) pass.tallyOf(target).rows++
  const suspects = rows.filter(({ target }) => !isFilling(target))
  const filled = rows.filter(({ target }) => isFilling(target))
  for (const chunk of chunks(filled, IDS_PER_LOOKUP))
    suspects.push(...(await otherVersionRows(pass, shard, chunk)))
  for (const group of byEntities(suspects)) {
    await recheck(pass, async (silentPass) => {
      const readAt = silentPass.time.now()
      const found = await danglingAmong(silentPass, shard, group)
      const misplaced = found.filter((row) => row.misplaced)
      const dangling = found.filter((row) => !row.misplaced)
      for (const { target } of misplaced) pass.tallyOf(target).misplaced++
      const { moved } = await removeRows(silentPass, dangling, readAt)
      // A misplaced row is missing on its right shard. `reconcile` adds it there before it deletes this one.
      const unsettled = [...moved, ...misplaced]
      const targets = [...new Set(unsettled.map(({ target }) => target))]
      await reconcile(silentPass, targets, distinctIds(unsettled.map(({ row }) => row.entityId)))
    })
  }
}

/** Groups rows by entity, in groups of few entities and few rows. An entity in many indexes, or with long arrays, has thousands. */
function* byEntities(rows: readonly TargetRow[]): Generator<readonly TargetRow[]> {
  let group: TargetRow[] = []
  let entities = 0
  for (const rowsOfEntity of Map.groupBy(rows, ({ row }) => idKey(row.entityId)).values()) {
    for (const row of rowsOfEntity) group.push(row)
    if (++entities < ENTITIES_AT_ONCE && group.length < ROWS_IN_HAND) continue
    yield group
    group = []
    entities = 0
  }
  if (group.length > 0) yield group
}
