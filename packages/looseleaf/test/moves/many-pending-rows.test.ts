import type { PendingRow } from '@looseleaf/core/internal'
import {
  clearTarget,
  come,
  copyLast,
  entitiesIn,
  leave,
  placeAt,
  undoMove,
} from '@looseleaf/protocol/internal'
import { expect, test } from 'vitest'
import { announcedMove, BUCKETS, UNKNOWN, type AnnouncedMove } from './announced-move.ts'

const PAGE = 500

async function countPending({ driver }: AnnouncedMove, shard: number): Promise<number> {
  return (await driver.shards[shard]!.pending.page({ limit: 10_000 })).length
}

/** Returns 1,100 pending rows of entities in the move's buckets. */
function pendingRows({ work }: AnnouncedMove): readonly PendingRow[] {
  const isIn = entitiesIn(work.context, BUCKETS)
  const ids: Uint8Array[] = []
  while (ids.length < 100) {
    const id = work.context.router.newId()
    if (isIn(id)) ids.push(id)
  }
  return ids.flatMap((entityId) =>
    Array.from({ length: 11 }, (_, n) => ({ entityId, table: `index_${n}`, version: 1 })),
  )
}

async function addPending(moving: AnnouncedMove, shard: number, rows: readonly PendingRow[]): Promise<void> {
  const epoch = await moving.epochOf(shard)
  for (let start = 0; start < rows.length; start += PAGE)
    await moving.driver.shards[shard]!.pending.add(rows.slice(start, start + PAGE), { epoch })
}

test('all pending rows of a group are copied with it, and deleted by an undo, also if they are many pages', async () => {
  const moving = await announcedMove()
  const { work } = moving
  await addPending(moving, 0, pendingRows(moving))
  await moving.begin()
  const epoch = await moving.epochOf(1)
  const chain = { last: UNKNOWN.last }
  await copyLast(work, placeAt(0), BUCKETS, { epoch, updated: 1, chain })
  expect(await countPending(moving, 1)).toBe(1_100)
  await undoMove(work)
  expect(await countPending(moving, 1)).toBe(0)
  expect(await countPending(moving, 0)).toBe(1_100)
})

test('a target whose pending rows were deleted needs another attempt, although the last of them got a later version before', async () => {
  const later = async (): Promise<void> =>
    addPending(
      moving,
      1,
      (await moving.driver.shards[1]!.pending.page({ limit: PAGE })).map((row) => ({ ...row, version: 2 })),
    )
  const moving: AnnouncedMove = await announcedMove(({ shard, table, operation, number }) =>
    shard === 1 && table === 'pending' && operation === 'remove' && number === 2
      ? { before: later }
      : undefined,
  )
  const { work } = moving
  await addPending(moving, 1, pendingRows(moving).slice(0, 2 * PAGE))
  const attempt = (await leave(work))!
  expect(await clearTarget(work, attempt, (await come(work, attempt, UNKNOWN))!)).toBeUndefined()
  expect(await countPending(moving, 1)).toBe(PAGE)
})
