import { cleanIndex } from '@looseleaf/cleaner'
import type { Driver } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { announceMove } from '@looseleaf/protocol/internal'
import { DataStore } from '@looseleaf/store'
import { keepOpen } from '@looseleaf/testkit'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { moveBuckets, movesOf, resumeMoves } from '@looseleaf/mover'

const byUser = defineIndex('by_user', { properties: { user: 'string', n: 'integer' }, shardOn: 'user' })
const PLAN = { from: 0, to: 1, buckets: '0-1023' }

let driver: Driver
let store: DataStore

beforeEach(async () => {
  driver = await memoryShards(2).connect()
  store = await DataStore.open({ shards: keepOpen(driver), migrate: true, time: leapingTime() })
  await Promise.all(Array.from({ length: 30 }, (_, n) => store.put({ user: 'ada', n })))
})
afterEach(async () => {
  await store.close()
  await driver.close()
})

test('a move is refused while an index is being filled', async () => {
  await store.addIndex([byUser])
  await expect(moveBuckets(store, PLAN)).rejects.toMatchObject({
    code: 'CONFLICT',
    message: expect.stringContaining('Index by_user is being filled'),
  })
  expect(await movesOf(store)).toEqual([])
  expect(await cleanIndex(store)).toMatchObject({ complete: true })
  expect(await moveBuckets(store, PLAN)).toMatchObject({ state: 'done' })
  expect((await store.query(byUser, { user: 'ada' }, { limit: 50 })).items).toHaveLength(30)
})

test('the filling of an index that is added during a move begins when the move has ended', async () => {
  await announceMove(store.context, PLAN)
  await store.addIndex([byUser])
  await expect(cleanIndex(store)).rejects.toMatchObject({
    code: 'CONFLICT',
    message: expect.stringContaining('Index by_user cannot be filled while buckets move'),
  })
  await resumeMoves(store)
  expect(await cleanIndex(store)).toMatchObject({ complete: true })
  expect((await store.query(byUser, { user: 'ada' }, { limit: 50 })).items).toHaveLength(30)
})
