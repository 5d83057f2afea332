import { parseId, type EntityId } from '@looseleaf/core'
import type { ShardCatalog } from '@looseleaf/core/internal'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { beginTarget, entitiesIn, loadOwn } from '@looseleaf/protocol/internal'
import { faultyDriver, unknownOutcome } from '@looseleaf/testkit'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, test } from 'vitest'
import { moveBuckets } from '@looseleaf/mover/internal'
import { openStore } from './stores.ts'

test('writes of a bucket that the target serves stay when the next group of buckets is copied', async () => {
  const memory = await memoryShards(2).connect()
  const writer = await openStore(memory)
  const isFirst = entitiesIn(writer.context, '0-511')
  let id: EntityId
  do id = writer.newId()
  while (!isFirst(parseId(id)))
  let n = 0
  const found: unknown[] = []
  const write = async (): Promise<void> => {
    const { leaving = [] } = (await loadOwn(writer.context, 0, {})).serves
    if (leaving.some(({ sealed }) => sealed !== undefined)) return
    found.push((await writer.get(id))?.['n'])
    await writer.put({ n: ++n }, { id })
  }
  await write()
  // Before a seal, so that the place of the copies is not above the write; and after the target has begun to serve the bucket.
  const watched = faultyDriver(memory, ({ table, operation }) =>
    table === 'catalog' && operation === 'change' ? { before: write, after: write } : undefined,
  )
  const mover = await openStore(watched, leapingTime())
  await moveBuckets(mover, { from: 0, to: 1, buckets: '0-1023' }, { groups: 2 })
  expect(n).toBeGreaterThan(8)
  expect(found).toEqual([undefined, ...Array.from({ length: n - 1 }, (_, i) => i + 1)])
})

test('a target whose changes get no answer rejects after some tries to begin, and names the buckets', async () => {
  const memory = await memoryShards(2).connect()
  await openStore(memory)
  let begins = 0
  const watched = faultyDriver(memory, ({ operation, args: [catalog] }) => {
    const { serves } = (operation === 'change' ? catalog : {}) as Partial<ShardCatalog>
    if (serves?.arrived === undefined) return undefined
    begins++
    return {
      before() {
        throw unknownOutcome()
      },
    }
  })
  const mover = await openStore(watched, leapingTime())
  const expected = {
    code: 'SHARD_BUSY',
    message: expect.stringMatching(/^Move 1: .* has not begun to serve the buckets 0-511/) as string,
  }
  const plan = { from: 0, to: 1, buckets: '0-1023' }
  await expect(moveBuckets(mover, plan, { groups: 2 })).rejects.toMatchObject(expected)
  begins = 0
  await expect(beginTarget(mover.context, 1)).rejects.toMatchObject(expected)
  expect(begins).toBe(20)
})
