import { parseId, type Bag, type EntityId } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { bucketOfId } from '@looseleaf/router'
import { faultyDriver, keepOpen, unknownOutcome } from '@looseleaf/testkit'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, onTestFinished, test } from 'vitest'
import { handOverOf } from '../../../test/hand-over.ts'
import { DataStore } from '../../data-store.ts'

const GROUP = '0-99'

test('a committed batch without an answer is found at the shard that its bucket has moved to', async () => {
  const memory = await memoryShards(2).connect()
  const move = handOverOf(memory)
  let isLost = false
  let isMoved = false
  let batches = 0
  const driver = faultyDriver(memory, ({ shard, operation }) => {
    if (operation === 'writeAll') {
      batches++
      isLost = true
      return { after: () => Promise.reject(unknownOutcome()) }
    }
    if (!isLost || isMoved || shard !== 0 || operation !== 'readVersions') return undefined
    isMoved = true
    return { before: handOver }
  })
  const store = await DataStore.open({ shards: keepOpen(driver), migrate: true, time: leapingTime() })
  onTestFinished(async () => {
    await store.close()
    await memory.close()
  })
  let a: EntityId
  do a = store.newId()
  while (bucketOfId(parseId(a)) > 99)
  const b = store.newId({ near: a })
  for (const id of [a, b]) await store.insert({ n: 1 }, { id })
  await move.begin()
  await store.context.catalog.reload()

  /** Hands the bucket over, and empties its old shard. */
  async function handOver(): Promise<void> {
    await move.seal(GROUP)
    expect(await move.giveUp(GROUP)).toBe(true)
    await move.beginAtTarget(GROUP)
    const { epoch } = (await memory.shards[0]!.catalog.load())!
    expect(await memory.shards[0]!.entities.discard([parseId(a), parseId(b)], { epoch })).toBe(2)
  }

  const edit = (bag: Bag): Bag => ({ ...bag, n: Number(bag['n']) + 1 })
  await store.batch([
    { update: a, edit },
    { update: b, edit },
  ])
  expect([batches, isMoved]).toEqual([1, true])
  expect(await store.getMany([a, b])).toMatchObject([{ n: 2 }, { n: 2 }])
})
