import { parseId, type EntityId } from '@looseleaf/core'
import { DataStore } from '@looseleaf/store'
import { entitiesIn } from '@looseleaf/protocol/internal'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, test } from 'vitest'
import { crashingShards } from '../../../cleaner/test/crashing-shards.ts'
import { moveBuckets } from '@looseleaf/mover'
import { SOME_BUCKETS } from './stores.ts'

test('an entity whose replacement is lost in a crash of the source moves as it was before', async () => {
  let isArmed = false
  const shards = crashingShards(2, ({ shard, table, operation }) => {
    if (!isArmed || shard !== 0 || table !== 'entities' || operation !== 'read') return undefined
    isArmed = false
    return {
      before: async () => {
        shards.hang(0)
        await writer.put({ n: 2 }, { id })
      },
      after: () => shards.crash(0),
    }
  })
  const writer = await DataStore.open({ shards: shards.factory, migrate: true })
  const isIn = entitiesIn(writer.context, SOME_BUCKETS)
  let id: EntityId
  do id = writer.newId()
  while (!isIn(parseId(id)))
  await writer.put({ n: 1 }, { id })
  const mover = await DataStore.open({ shards: shards.factory, time: leapingTime() })
  isArmed = true
  expect(await moveBuckets(mover, { from: 0, to: 1, buckets: SOME_BUCKETS })).toMatchObject({ state: 'done' })
  expect(isArmed).toBe(false)
  const fresh = await DataStore.open({ shards: shards.factory })
  expect(await fresh.get(id)).toMatchObject({ n: 1 })
})
