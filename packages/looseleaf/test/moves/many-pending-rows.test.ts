import type { Shard } from '@looseleaf/core'
import type { PendingRow } from '@looseleaf/core/internal'
import { copyLast, entitiesIn, placeAt, undoMove } from '@looseleaf/protocol/internal'
import { expect, test } from 'vitest'
import { announcedMove, BUCKETS, UNKNOWN } from './announced-move.ts'

async function countPending({ pending }: Shard): Promise<number> {
  return (await pending.page({ limit: 10_000 })).length
}

test('all pending rows of a group are copied with it, and deleted by an undo, also if they are many pages', async () => {
  const moving = await announcedMove()
  const { work, driver } = moving
  const isIn = entitiesIn(work.context, BUCKETS)
  const ids: Uint8Array[] = []
  while (ids.length < 100) {
    const id = work.context.router.newId()
    if (isIn(id)) ids.push(id)
  }
  const rows: PendingRow[] = ids.flatMap((entityId) =>
    Array.from({ length: 11 }, (_, n) => ({ entityId, table: `index_${n}`, version: 1 })),
  )
  const [source, target] = driver.shards
  for (let start = 0; start < rows.length; start += 500)
    await source!.pending.add(rows.slice(start, start + 500), { epoch: await moving.epochOf(0) })
  await moving.begin()
  const epoch = await moving.epochOf(1)
  const chain = { last: UNKNOWN.last }
  await copyLast(work, placeAt(0), BUCKETS, { epoch, updated: 1, chain })
  expect(await countPending(target!)).toBe(1_100)
  await undoMove(work)
  expect(await countPending(target!)).toBe(0)
  expect(await countPending(source!)).toBe(1_100)
})
