import { LooseleafError } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { moveBuckets, movesOf, resumeMoves } from '@looseleaf/mover/internal'
import { faultyDriver } from '@looseleaf/testkit'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, test } from 'vitest'
import { filledStore, openStore, rowsAt, SOME_BUCKETS } from '../stores.ts'
import { Consumed, versionsOf } from './consumed.ts'
import { finishMoves, moveUntil, PLAN } from './moving.ts'

test('an earlier move that was emptying a source deletes nothing there that a later move keeps for consumers', async () => {
  const driver = await memoryShards(2).connect()
  const mover = await filledStore(driver, 60)
  await using store = await openStore(driver)
  const dying = faultyDriver(driver, ({ shard, operation }) =>
    shard === 0 && operation === 'discard'
      ? { before: () => Promise.reject(new LooseleafError('CLOSED', 'The process has died.')) }
      : undefined,
  )
  await expect(moveBuckets(await openStore(dying, leapingTime()), PLAN)).rejects.toMatchObject({
    code: 'CLOSED',
  })
  expect(await moveBuckets(mover, { ...PLAN, from: 1, to: 0 })).toMatchObject({ state: 'done' })
  const consumed = new Consumed()
  const first = consumed.start(store)
  await consumed.reach(await versionsOf(store))
  await first.stop()
  for (const id of (await versionsOf(store)).keys())
    if ((await store.get(id)) !== undefined) await store.update(id, (bag) => ({ ...bag, rank: 7 }))
  await moveUntil(mover, 'emptying')
  const kept = await rowsAt(mover, 0, SOME_BUCKETS)
  await resumeMoves(mover, { consumersMs: 0 })
  expect(await movesOf(mover)).toMatchObject([{ state: 'emptying' }])
  expect(await rowsAt(mover, 0, SOME_BUCKETS)).toBe(kept)
  await using _ = consumed.start(store)
  await consumed.reach(await versionsOf(store))
  await finishMoves(mover)
  expect(consumed.backwards()).toEqual([])
  expect(await rowsAt(mover, 0, SOME_BUCKETS)).toBe(0)
  await mover.close()
  await driver.close()
})
