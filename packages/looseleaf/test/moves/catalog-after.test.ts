import { memoryShards } from '@looseleaf/driver-sqlite'
import { catalogAfter } from '@looseleaf/protocol/internal'
import { faultyDriver } from '@looseleaf/testkit'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { moveBuckets } from '@looseleaf/mover/internal'
import { expect, test } from 'vitest'
import { openStore } from './stores.ts'

test('a catalog is read again only if its shard has another epoch', async () => {
  const driver = await memoryShards(2).connect()
  const mover = await openStore(driver, leapingTime())
  let loads = 0
  const watched = faultyDriver(driver, ({ table, operation }) => {
    if (table === 'catalog' && operation === 'load') loads++
    return undefined
  })
  const { context } = await openStore(watched)
  const before = context.catalog.current()
  loads = 0
  expect(await catalogAfter(context, 0, before, {})).toBe(before)
  expect(loads).toBe(0)
  await moveBuckets(mover, { from: 0, to: 1, buckets: '0-15' })
  const after = await catalogAfter(context, 0, before, {})
  expect(after.epochs[0]).toBeGreaterThan(before.epochs[0]!)
  expect(loads).toBeGreaterThan(0)
})
