import { chunks, type EntityInsert, type PendingRow } from '@looseleaf/core/internal'
import {
  copyLast,
  entitiesIn,
  placeAt,
  type ChainedTarget,
  type MoveWork,
} from '@looseleaf/protocol/internal'
import type { FaultPlan } from '@looseleaf/testkit'
import { beforeEach, expect, test } from 'vitest'
import { announcedMove, BUCKETS, type AnnouncedMove } from './announced-move.ts'

/** Buckets of the source that stay. */
const OTHERS = '10-1365'
/** Rows of a page. */
const PAGE = 500

let moving: AnnouncedMove
let work: MoveWork
let plan: FaultPlan
let target: ChainedTarget

beforeEach(async () => {
  plan = () => undefined
  moving = await announcedMove((call) => plan(call))
  work = moving.work
  await moving.begin()
  target = { epoch: await moving.epochOf(1), updated: 1, chain: { last: undefined } }
})

function idIn(buckets: string): Uint8Array {
  const isIn = entitiesIn(work.context, buckets)
  for (;;) {
    const id = work.context.router.newId()
    if (isIn(id)) return id
  }
}

const textOf = (id: Uint8Array): string => Buffer.from(id).toString('hex')

async function insert(rows: readonly { readonly id: Uint8Array; readonly bytes: number }[]): Promise<void> {
  const inserts = rows.map(({ id, bytes }): EntityInsert => ({
    id,
    version: 5,
    body: Buffer.alloc(bytes, 1),
  }))
  const { entities } = moving.driver.shards[0]!
  for (const some of chunks(inserts, 400)) await entities.insert(some, { epoch: await moving.epochOf(0) })
}

test('a last copy takes all pages of a group, and no rows of other buckets', async () => {
  const ids = Array.from({ length: PAGE + 1 }, () => idIn(BUCKETS))
  const [first, ...others] = ids.map((id) => ({ id, bytes: 3 }))
  await insert([first!, { id: idIn(OTHERS), bytes: 3 }, ...others])
  const rows = await moving.driver.shards[0]!.entities.pageByAdded(0, 10_000)
  expect(await copyLast(work, placeAt(0), BUCKETS, target)).toEqual({
    copied: ids.length,
    different: 0,
    lastUpdated: Math.max(...rows.map(({ updated }) => updated)),
  })
  const copies = await moving.driver.shards[1]!.entities.pageByAdded(0, 10_000)
  expect(copies.map(({ id }) => textOf(id)).toSorted()).toEqual(ids.map(textOf).toSorted())
})

test('the bodies of a last copy come with its page up to 16 KiB, and copies of longer ones are compared as well', async () => {
  const ids = [idIn(BUCKETS), idIn(BUCKETS)]
  await insert(ids.map((id, i) => ({ id, bytes: i === 0 ? 10_000 : 20_000 })))
  const { entities } = moving.driver.shards[1]!
  const read: string[] = []
  plan = ({ shard, table, operation, args }) => {
    if (shard === 0 && table === 'entities' && operation === 'read')
      read.push(...(args[0] as Uint8Array[]).map(textOf))
    if (shard !== 1 || operation !== 'checksums') return undefined
    const wrong = ids.map((id) => ({ id, version: 4, body: null }))
    // Another program writes to the target.
    return { before: () => entities.receive(wrong, { epoch: target.epoch, updated: 2 }) }
  }
  expect(await copyLast(work, placeAt(0), BUCKETS, target)).toMatchObject({ copied: 2, different: 2 })
  expect(read).toEqual([textOf(ids[1]!)])
})

test('the pending rows of a group are copied with it, and no others', async () => {
  const sent: unknown[] = []
  plan = ({ shard, table, operation, args }) =>
    void (shard === 1 && table === 'pending' && operation === 'add' && sent.push(args[0]))
  const add = async (entityId: Uint8Array): Promise<PendingRow> => {
    const row = { entityId: Buffer.from(entityId), table: 'index_by_user', version: 5 }
    await moving.driver.shards[0]!.pending.add([row], { epoch: await moving.epochOf(0) })
    return row
  }
  await add(idIn(OTHERS))
  await copyLast(work, placeAt(0), BUCKETS, target)
  expect(sent).toEqual([])
  const row = await add(idIn(BUCKETS))
  await copyLast(work, placeAt(0), BUCKETS, target)
  expect(sent).toMatchObject([[row]])
})
