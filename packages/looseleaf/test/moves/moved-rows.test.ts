import { parseId } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { createMovedRows, entitiesIn } from '@looseleaf/protocol/internal'
import { faultyDriver } from '@looseleaf/testkit'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, test } from 'vitest'
import { finishMoves, moveUntil } from './consumers/moving.ts'
import { openStore, SOME_BUCKETS } from './stores.ts'

test('the answer of another shard does not count if the own buckets were learned again meanwhile', async () => {
  const driver = await memoryShards(2).connect()
  await using mover = await openStore(driver, leapingTime())
  await moveUntil(mover, 'emptying')
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  let isLate = false
  const late = faultyDriver(driver, ({ shard, table, operation }) =>
    isLate && shard === 0 && table === 'catalog' && operation === 'load'
      ? { after: () => released }
      : undefined,
  )
  await using store = await openStore(late)
  const isIn = entitiesIn(store.context, SOME_BUCKETS)
  let id = store.newId()
  while (!isIn(parseId(id))) id = store.newId()
  // A follower that begins after the move, and gets the copies once the former shard deletes the moved rows.
  const progress = { sinceOn: () => Infinity, hasHandled: () => Promise.resolve(true) }
  const moved = createMovedRows(store.context, 1, progress, new AbortController().signal)
  const learn = async (): Promise<void> => moved.learn((await driver.shards[1]!.entities.floor()).epoch)
  const copy = { id: parseId(id), updated: 1, addedId: 1 }
  await learn()
  isLate = true
  const first = moved.turnOf(copy)
  await finishMoves(mover)
  await moveUntil(mover, 'checking', { from: 1, to: 0, buckets: '3000-4095' })
  isLate = false
  await learn()
  release()
  expect(await first).toBe('skip')
  expect(await moved.turnOf(copy)).toBe('give')
})
