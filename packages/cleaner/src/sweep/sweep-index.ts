import { distinctIds, idKey, type IndexRow } from '@looseleaf/core'
import { danglingAmong, type TargetRow } from '../look/dangling-among.ts'
import { lookAgain } from '../look/look-again.ts'
import { ofOtherVersions } from '../look/of-other-versions.ts'
import type { IndexTarget } from '../pass/index-target.ts'
import type { Pass } from '../pass/pass.ts'
import { reconcile } from '../repair/reconcile.ts'
import { removeRows } from '../repair/remove-rows.ts'
import type { RepairPass } from '../repair/repair-pass.ts'
import { chunks, IDS_PER_LOOKUP, ROWS_IN_HAND } from '../tools/chunks.ts'

/** Pages of rows that are held against their entities at once: an entity is read once for all of them. */
const PAGES_AT_ONCE = 16
/** Entities whose rows are in hand at once. */
const ENTITIES_AT_ONCE = 100

/** Gathers pages of rows of several indexes on one shard, until there are enough to be held against their entities. */
export interface GatheredRows {
  add(target: IndexTarget, rows: readonly IndexRow[]): void
  readonly areMany: boolean
  /** All that was added since the last time. */
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
      const all = gathered
      gathered = []
      return all
    },
  }
}

/**
 * A part of a pass over index tables of a shard: deletes the rows that do not match a committed entity. Entities are
 * neither counted nor reported here; that is for the pass over the entities. `isFilling`: its rows were all written a moment
 * ago, so those that have the version of their entity are taken to be right, and no body is read for them.
 */
export async function sweepIndexRows(
  pass: RepairPass,
  shard: number,
  rows: readonly TargetRow[],
  isFilling: (target: IndexTarget) => boolean = () => false,
): Promise<void> {
  for (const { target } of rows) pass.tallyOf(target).rows++
  const looked = rows.filter(({ target }) => !isFilling(target))
  const filled = rows.filter(({ target }) => isFilling(target))
  for (const some of chunks(filled, IDS_PER_LOOKUP))
    looked.push(...(await ofOtherVersions(pass, shard, some)))
  for (const group of byEntities(looked)) {
    await lookAgain(pass, async (scratch) => {
      const readAt = scratch.time.now()
      const found = await danglingAmong(scratch, shard, group)
      const misplaced = found.filter((row) => row.misplaced)
      const dangling = found.filter((row) => !row.misplaced)
      for (const { target } of misplaced) pass.tallyOf(target).misplaced++
      const { moved } = await removeRows(scratch, dangling, readAt)
      // A misplaced row stands for one that is missing where it belongs, which is added before this one goes.
      const again = [...moved, ...misplaced]
      const targets = [...new Set(again.map(({ target }) => target))]
      await reconcile(scratch, targets, distinctIds(again.map(({ row }) => row.entityId)))
    })
  }
}

/** Rows in groups of few entities, and of few rows: an entity of many indexes and arrays has thousands. */
function* byEntities(rows: readonly TargetRow[]): Generator<readonly TargetRow[]> {
  let group: TargetRow[] = []
  let entities = 0
  for (const own of Map.groupBy(rows, ({ row }) => idKey(row.entityId)).values()) {
    for (const row of own) group.push(row)
    if (++entities < ENTITIES_AT_ONCE && group.length < ROWS_IN_HAND) continue
    yield group
    group = []
    entities = 0
  }
  if (group.length > 0) yield group
}
