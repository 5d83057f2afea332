import { parseId, type EntityId } from '@looseleaf/core'
import type { ShardCatalog } from '@looseleaf/core/internal'
import { entitiesIn } from '@looseleaf/protocol/internal'
import { DataStore } from '@looseleaf/store'
import { faultyDriver, unknownOutcome } from '@looseleaf/testkit'
import { crashingShards } from '@looseleaf-tooling/kit/crashing-shards'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, test } from 'vitest'
import { moveBuckets, movesOf } from '@looseleaf/mover/internal'
import { SOME_BUCKETS } from './stores.ts'

test('a group that the target began without an answer begins again after a crash of the target', async () => {
  let step: 'begin' | 'crash' | 'over' = 'begin'
  const shards = crashingShards(2, (driver) =>
    faultyDriver(driver, ({ shard, table, operation, args: [catalog] }) => {
      const { serves } = (shard === 1 && operation === 'change' ? catalog : {}) as Partial<ShardCatalog>
      if (step === 'begin' && serves?.arrived !== undefined) {
        step = 'crash'
        return {
          before: () => shards.hang(1),
          after() {
            throw unknownOutcome()
          },
        }
      }
      // The mover has seen in the catalog that the group has begun, and waits for the disk or copies the next group.
      const isSeen = shard === 1 ? operation === 'flush' : table === 'entities'
      if (step !== 'crash' || !isSeen) return undefined
      step = 'over'
      return { before: () => shards.crash(1) }
    }),
  )
  const writer = await DataStore.open({ shards: shards.factory, migrate: true })
  const isFirst = entitiesIn(writer.context, '0-511')
  let id: EntityId
  do id = writer.newId()
  while (!isFirst(parseId(id)))
  await writer.put({ n: 1 }, { id })
  const mover = await DataStore.open({ shards: shards.factory, time: leapingTime() })
  const plan = { from: 0, to: 1, buckets: SOME_BUCKETS }
  expect(await moveBuckets(mover, plan, { groups: 2 })).toMatchObject({ state: 'done' })
  expect(step).toBe('over')
  expect(await movesOf(mover)).toEqual([])
  const fresh = await DataStore.open({ shards: shards.factory })
  await fresh.update(id, (bag) => ({ n: Number(bag['n']) + 1 }))
  expect(await fresh.get(id)).toMatchObject({ n: 2 })
})
