import { LooseleafError, type Driver } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { emptySources, movesOf, undoMove } from '@looseleaf/mover/internal'
import type { DataStore } from '@looseleaf/store'
import { faultyDriver } from '@looseleaf/testkit'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { moveUntil } from './consumers/moving.ts'
import { filledStore, openStore, rowsAt } from './stores.ts'

let driver: Driver
let store: DataStore

beforeEach(async () => {
  driver = await memoryShards(3).connect()
  store = await filledStore(driver, 60)
})
afterEach(async () => {
  await store.close()
  await driver.close()
})

test('a source is left alone while another process works on its move, which cannot be undone any more', async () => {
  await moveUntil(store, 'emptying')
  const { tasks } = driver.shards[1]!
  await tasks.claim('move/1', 'other', 60_000)
  const before = await tasks.load('move/1')
  expect(await emptySources(store.context, {})).toEqual([])
  await expect(undoMove(store, 1)).rejects.toMatchObject({ code: 'CONFLICT' })
  expect(await tasks.load('move/1')).toEqual(before)
  await tasks.save('move/1', 'other', before!.progress, 0)
  expect(await emptySources(store.context, {})).toMatchObject([{ id: 1, state: 'done' }])
})

test('an error of one move stops no other, but for the end of the call and mistakes of the program', async () => {
  const plans = [
    { from: 0, to: 1, buckets: '0-99' },
    { from: 0, to: 2, buckets: '100-999' },
  ]
  for (const plan of plans) await moveUntil(store, 'emptying', plan)
  let fault: Error | undefined
  const failing = await openStore(
    faultyDriver(driver, ({ shard, operation }) => {
      const error = fault
      return shard === 1 && operation === 'claim' && error !== undefined
        ? { before: () => Promise.reject(error) }
        : undefined
    }),
    leapingTime(),
  )
  for (fault of [
    new LooseleafError('ABORTED', 'The call was aborted.'),
    new LooseleafError('CLOSED', 'The store was closed.'),
    new TypeError('A mistake of the program.'),
  ]) {
    await expect(emptySources(failing.context, {})).rejects.toThrow(fault.message)
    expect(await movesOf(store)).toHaveLength(2)
  }
  fault = new LooseleafError('SHARD_DENIED', 'The server denies it.')
  await expect(emptySources(failing.context, {})).rejects.toBe(fault)
  expect(await movesOf(store)).toMatchObject([{ to: 1 }])
  expect(await rowsAt(store, 0, '100-999')).toBe(0)
  await failing.close()
})
