import { parseId } from '@looseleaf/core'
import type { ShardServes } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { changeServes, loadShardCatalog } from '@looseleaf/index-engine/internal'
import { createMovedRows, entitiesIn, followChanges } from '@looseleaf/protocol/internal'
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

test.each([
  [true, 'give'],
  [false, 'hold'],
] as const)(
  'changes of a bucket wait for each shard that had it and lacks a record of its deletes, as after a failover (all handled there: %s)',
  async (isHandled, turn) => {
    const driver = await memoryShards(3).connect()
    await using store = await openStore(driver, leapingTime())
    const record = { attempt: 1, buckets: '0-9' }
    // The bucket went from shard 0 to shard 1, and on to shard 2 when shard 0 had deleted its rows.
    const records: readonly ShardServes[] = [
      { owns: '10-1365', away: [{ ...record, move: 1, to: 1, end: 5 }] },
      { owns: '1366-2730', away: [{ ...record, move: 2, to: 2, end: 9, emptied: 10 }] },
      {
        owns: '0-9,2731-4095',
        arrived: [{ ...record, move: 2, from: 1, end: 9, begin: 20, afterAddedId: 0 }],
      },
    ]
    for (const [number, serves] of records.entries()) {
      const shard = driver.shards[number]!
      await changeServes(shard, (await loadShardCatalog(shard))!, serves)
    }
    const isIn = entitiesIn(store.context, '0-9')
    let id = store.newId()
    while (!isIn(parseId(id))) id = store.newId()
    const progress = { sinceOn: () => 0, hasHandled: async (shard: number) => shard !== 0 || isHandled }
    const moved = createMovedRows(store.context, 2, progress, new AbortController().signal)
    await moved.learn((await driver.shards[2]!.entities.floor()).epoch)
    expect(await moved.turnOf({ id: parseId(id), updated: 30, addedId: 1 })).toBe(turn)
  },
)

test('a follower of a shard without rows tells its beginning once buckets are leaving the shard', async () => {
  const driver = await memoryShards(2).connect()
  await using store = await openStore(driver, leapingTime())
  const [shard] = driver.shards
  const leaving = [{ move: 1, attempt: 1, buckets: '0-9', to: 1 }]
  await changeServes(shard!, (await loadShardCatalog(shard!))!, { owns: '0-2047', leaving })
  const begun = await shard!.entities.raiseFloor()
  let reads = 0
  const following = followChanges(
    store.context,
    0,
    { updated: 0, addedId: 0, since: 0 },
    {
      pollMs: 10,
      signal: new AbortController().signal,
      onRetry: () => {},
      checkOpen() {
        if (++reads === 3) throw new Error('The follower has told nothing.')
      },
      placeOn: () => undefined,
    },
  )
  const { value } = await following.next()
  expect(value).toMatchObject({ rows: [], place: { updated: 0, addedId: 0 } })
  expect(value?.place.since).toBeGreaterThanOrEqual(begun)
  await following.return()
})
