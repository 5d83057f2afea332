import { LooseleafError } from '@looseleaf/core'
import type { BatchRow } from '@looseleaf/core/internal'
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

let moving: AnnouncedMove
let work: MoveWork
let plan: FaultPlan
let target: ChainedTarget
let id: Uint8Array

beforeEach(async () => {
  plan = () => undefined
  moving = await announcedMove((call) => plan(call))
  work = moving.work
  await moving.begin()
  const isIn = entitiesIn(work.context, BUCKETS)
  do id = work.context.router.newId()
  while (!isIn(id))
  const row: Pick<BatchRow, 'id'> & { version: number; body: Uint8Array } = {
    id,
    version: 5,
    body: Buffer.from('text'),
  }
  await moving.driver.shards[0]!.entities.insert([row], { epoch: await moving.epochOf(0) })
  target = { epoch: await moving.epochOf(1), updated: 1, chain: { last: undefined } }
})

test('a last copy that is not as it was sent is counted', async () => {
  const { entities } = moving.driver.shards[1]!
  plan = ({ shard, operation }) =>
    shard === 1 && operation === 'checksums'
      ? {
          async before() {
            await entities.receive([{ id, version: 4, body: null }], { epoch: target.epoch, updated: 2 })
          },
        }
      : undefined
  expect(await copyLast(work, placeAt(0), BUCKETS, target)).toMatchObject({ copied: 1, different: 1 })
})

test('a last copy rejects if the pending rows of its group cannot be copied', async () => {
  const pending = { entityId: id, table: 'index_by_user', version: 5 }
  await moving.driver.shards[0]!.pending.add([pending], { epoch: await moving.epochOf(0) })
  const denied = new LooseleafError('SHARD_DENIED', 'The server denies it.')
  plan = ({ shard, table, operation }) =>
    shard === 1 && table === 'pending' && operation === 'add'
      ? { before: () => new Promise((_, reject) => setTimeout(reject, 20, denied)) }
      : undefined
  await expect(copyLast(work, placeAt(0), BUCKETS, target)).rejects.toBe(denied)
})
